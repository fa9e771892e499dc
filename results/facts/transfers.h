// results/facts/transfers.h — How long calls took once everybody had come: the network's share,
// free of stragglers.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "results/facts/calls.h"

namespace deadrank::results::detectors {

// Calls that move the same amount the same way.
struct TransferKind {
    Op op = Op::none;
    std::int64_t bytes = 0;
    auto operator<=>(const TransferKind&) const = default;
};

struct Transfer {
    Time at{0};  // when the last member left
    Time lasted{0};
};

struct CommTransfers {
    const Communicator* comm = nullptr;
    std::map<TransferKind, std::vector<Transfer>> kinds = {};  // in order of sequence
};

// By communicator, in the order of their creation. Calls that did not end for all are left out.
std::vector<CommTransfers> transfers_of(const Evidence& evidence);

}  // namespace deadrank::results::detectors
