// scenarios/format/contradictions.h — What cannot be meant in a plan: a rank outside the cluster, a step
// after the end, a degree that does not divide.
#pragma once

#include <optional>
#include <string>

#include "scenarios/model/plan.h"

namespace deadrank::scenarios {

struct Contradiction {
    std::string setting;  // path of what is to blame: "cluster.ranks", "fault.0.when.step", "expect.step"
    std::string what;
    std::string remedy;
};

// The first one, or none. Values are taken as present where their tables say so.
std::optional<Contradiction> cluster_contradiction(const Plan& plan);
std::optional<Contradiction> contradiction(const Plan& plan);

}  // namespace deadrank::scenarios
