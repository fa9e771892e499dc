// runners/find/drawing.h — Draws plans at random, and rows in which each pair of values occurs together at
// least once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runners/find/passes.h"
#include "scenarios/model/chance.h"

namespace deadrank::runners::find {

// Few rows that cover every pair of values of two factors: most failures need no more than two conditions at
// once.
// `levels`: how many values each factor has, none of them 0. Each row has one value index for each factor.
// Greedy (like AETG) and deterministic; at least as many rows as the two largest factors need.
std::vector<std::vector<std::size_t>> pairwise(const std::vector<std::size_t>& levels);

// ── Where faults have acted so far: kind × phase × role. Rarely tried cells are drawn more often.

// A rank's role: first of all, first of its node, last of all, none of these; or the fault aims at the whole
// job.
inline constexpr std::array<std::string_view, 5> roles = {"first", "leader", "last", "other", "job"};
inline constexpr std::array<std::string_view, 9> phases = {
    "start", "setup", "data", "forward", "backward", "reduce", "optimizer", "checkpoint", "step"};

std::string_view role_of(std::int64_t rank, std::int64_t ranks, std::int64_t ranks_per_node);

struct CoverageCell {
    std::string kind, phase, role;
    auto operator<=>(const CoverageCell&) const = default;
};

struct CoverageCount {
    std::uint64_t drawn = 0, acted = 0;
};

class Coverage {
public:
    void note(const CoverageCell& cell, bool acted);
    CoverageCount at(const CoverageCell& cell) const;

    // Draws an index of `cells`, preferring those drawn less often. A cell that was drawn often and never
    // acted is taken as unreachable and hardly drawn again.
    std::size_t pick(const std::vector<CoverageCell>& cells, const scenarios::Draw& draw,
                     std::uint64_t n) const;

    const std::map<CoverageCell, CoverageCount>& cells() const { return cells_; }
    std::size_t reached() const;  // cells in which a fault has acted

private:
    std::map<CoverageCell, CoverageCount> cells_;
};

// ── A seed becomes a plan: which kinds of fault, how many, where and when; which training on which cluster.
// Every draw is named, so one seed and one coverage give one plan.

struct SwarmWords {
    const scenarios::Vocabulary* words = nullptr;
    std::vector<std::string> workloads;  // empty = all
    std::vector<std::string> kinds;      // of faults; empty = all
    std::int64_t ranks_most = 16;        // above 32: jobs of just so many, 8 to a node
    std::size_t faults_most = 4;
    scenarios::Values settings = {};  // of the workload, instead of what is usual or drawn
};

struct Drawn {
    scenarios::Plan plan;
    std::vector<CoverageCell> cells;  // one for each fault
};

Drawn draw_plan(std::uint64_t seed, const SwarmWords& words, const Coverage& coverage);

}  // namespace deadrank::runners::find
