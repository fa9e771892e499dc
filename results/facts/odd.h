// results/facts/odd.h — Who is odd in one meeting: the majority decides, and in a pair the one
// whose call was not the usual one.
#pragma once

#include <string>

#include "results/facts/program.h"

namespace deadrank::results::detectors {

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
Disagreement disagreement_in(const Evidence& evidence, const Communicator& comm, const Meeting& meeting);

}  // namespace deadrank::results::detectors
