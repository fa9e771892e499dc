// results/analysis/circles.h — Ranks that wait for each other, found in a graph of who waits for whom.
#pragma once

#include <map>
#include <vector>

#include "results/record/event.h"

namespace deadrank::results::analysis {

// For whom each waiting rank waits.
using WaitGraph = std::map<Rank, std::vector<Rank>>;

// Ranks that all wait for each other, directly or through others, and for nobody else. One fault may close
// several circles: where each of two pairs meets its members in the wrong order, both are stuck for good.
struct Circle {
    std::vector<Rank> members;    // ascending
    std::vector<Rank> behind_it;  // they and those that wait for them, ascending
};

// In the order of their lowest ranks.
std::vector<Circle> closed_circles(const WaitGraph& graph);

}  // namespace deadrank::results::analysis
