// runners/find/coverage.h — Where faults have acted so far: kind × phase × role. What was seldom tried is
// drawn more often next.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/model/chance.h"

namespace deadrank::runners::find {

// The part a rank plays: the first of all, the first of its node, the last of all, none of these; or nobody.
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

    // Draws an index of `cells`: the fewer times a cell was drawn, the likelier. A cell that was drawn often
    // and never acted cannot be reached; it is nearly left alone.
    std::size_t pick(const std::vector<CoverageCell>& cells, const scenarios::Draw& draw,
                     std::uint64_t n) const;

    const std::map<CoverageCell, CoverageCount>& cells() const { return cells_; }
    std::size_t reached() const;  // cells in which a fault has acted

private:
    std::map<CoverageCell, CoverageCount> cells_;
};

}  // namespace deadrank::runners::find
