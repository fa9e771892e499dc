// results/facts/odd.h — Which ranks are odd: in one collective, in a group beside its siblings, or by the
// pattern of their peers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "results/facts/call_order.h"
#include "results/facts/calls.h"
#include "results/record/evidence.h"

namespace deadrank::results::detectors {

// The odd ranks in one collective: those outside the majority, or of a pair the one with an unusual call.

struct Disagreement {
    std::vector<Rank> odd = {};  // processes
    const CollectiveEnter* usual = nullptr;
    const CollectiveEnter* unusual = nullptr;
    bool skipped =
        false;  // the odd ones left a call out and are one ahead; their calls are right in themselves
    std::string aspect = {};  // "count 512 instead of 1024"

    explicit operator bool() const { return unusual != nullptr; }
};

// Compares the members that came. Nothing if they agree.
Disagreement disagreement_in(const Evidence& evidence, const Communicator& comm,
                             const Collective& collective);

// Groups of one name do the same work side by side. A member that does something else than the members at the
// same place in the other groups stands out even on the first step.

// Members whose calls, collectives and messages, differ from those of every sibling: neither list is a prefix
// of the other. Empty without siblings, and if all members differ.
std::vector<Rank> unlike_siblings(const Evidence& evidence, const Communicator& comm, Time when);

// Which device is a rank's own, by the pattern of its peers: the n-th rank of a host owns the n-th device.

class OwnDevices {
public:
    explicit OwnDevices(const Evidence& evidence);

    // -1: the process was never seen to start.
    std::int32_t of(Rank rank) const;

private:
    std::map<Rank, std::int32_t> places_;
};

}  // namespace deadrank::results::detectors
