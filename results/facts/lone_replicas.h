// results/facts/lone_replicas.h — Ranks that claim to hold the same parameters, yet have shared no
// call in training when they do so: they train alone, or in parts.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "results/record/evidence.h"

namespace deadrank::results::detectors {

struct LoneReplicas {
    std::string_view group;  // as they call it
    std::vector<Rank> ranks;
    std::size_t parts = 0;  // of ranks that share calls
    Time at{0};             // when the last of them had said so, after its first step
    bool worlds = false;    // each believes it is the whole world
};

// The first such group. Nothing if all replicas meet, directly or through others.
std::optional<LoneReplicas> lone_replicas(const Evidence& evidence);

}  // namespace deadrank::results::detectors
