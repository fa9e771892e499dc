// results/facts/odd.h — Who is odd: in one meeting, in a group beside its siblings, or by the pattern of its
// peers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "results/facts/call_order.h"
#include "results/facts/calls.h"
#include "results/record/evidence.h"

namespace deadrank::results::detectors {

// Who is odd in one meeting: the majority decides, and in a pair the one whose call was not the usual one.

struct Disagreement {
    std::vector<Rank> odd = {};  // processes
    const CollectiveEnter* usual = nullptr;
    const CollectiveEnter* unusual = nullptr;
    bool skipped =
        false;  // the odd ones left a call out and are one ahead; their calls are right in themselves
    std::string aspect = {};  // "count 512 instead of 1024"

    explicit operator bool() const { return unusual != nullptr; }
};

// Compares those who came. Nothing when they agree.
Disagreement disagreement_in(const Evidence& evidence, const Communicator& comm,
                             const Collective& collective);

// Groups of one name do the same thing side by side. Who does not do what its siblings do, the members of the
// same place in the other groups, stands out even on the first step.

// Members whose calls, collectives and messages, part from those of every sibling: neither began the other's
// list. Empty without siblings, and when all of them do.
std::vector<Rank> unlike_siblings(const Evidence& evidence, const Communicator& comm, Time when);

// Which device is a rank's own, by the pattern of its peers: the n-th rank of a host takes the n-th device.

class OwnDevices {
public:
    explicit OwnDevices(const Evidence& evidence);

    // -1: the process was never seen to start.
    std::int32_t of(Rank rank) const;

private:
    std::map<Rank, std::int32_t> places_;
};

}  // namespace deadrank::results::detectors
