// runners/find/coverage.cpp — Integer weights, so that every compiler draws the same.
#include "runners/find/coverage.h"

#include <algorithm>

#include "scenarios/model/error.h"

namespace deadrank::runners::find {

namespace {

constexpr std::uint64_t enough_tries = 4;  // without an effect, before a cell counts as out of reach

std::uint64_t weight(const CoverageCount& count) {
    if (count.acted == 0 && count.drawn >= enough_tries) return 1;
    return 1 + 1000 / (1 + count.drawn);
}

}  // namespace

std::string_view role_of(std::int64_t rank, std::int64_t ranks, std::int64_t ranks_per_node) {
    if (rank < 0) return "job";
    if (rank == 0) return "first";
    if (rank == ranks - 1) return "last";
    return rank % ranks_per_node == 0 ? "leader" : "other";
}

void Coverage::note(const CoverageCell& cell, bool acted) {
    CoverageCount& count = cells_[cell];
    ++count.drawn;
    if (acted) ++count.acted;
}

CoverageCount Coverage::at(const CoverageCell& cell) const {
    const auto found = cells_.find(cell);
    return found == cells_.end() ? CoverageCount{} : found->second;
}

std::size_t Coverage::pick(const std::vector<CoverageCell>& cells, const scenarios::Draw& draw,
                           std::uint64_t n) const {
    CHECK(!cells.empty());
    std::uint64_t sum = 0;
    for (const CoverageCell& cell : cells) sum += weight(at(cell));
    std::uint64_t left = draw.below(n, sum);
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::uint64_t here = weight(at(cells[i]));
        if (left < here) return i;
        left -= here;
    }
    return cells.size() - 1;
}

std::size_t Coverage::reached() const {
    return static_cast<std::size_t>(
        std::count_if(cells_.begin(), cells_.end(), [](const auto& cell) { return cell.second.acted > 0; }));
}

}  // namespace deadrank::runners::find
