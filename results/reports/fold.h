// results/reports/fold.h — Ranks that did the same at the same times become one row. What counts as
// the same time grows coarser until few rows are left or a picture would show it, and until all rows fit into
// a number of bytes; the coarseness is said.
#pragma once

#include <set>
#include <vector>

#include "results/reports/slices.h"

namespace deadrank::results::reports {

struct Row {
    std::vector<Rank> ranks;  // ascending; the first one is drawn
};

struct Folded {
    std::vector<Row> rows;       // in order of their first ranks
    Time tolerance{0};           // ranks of a row agree at least that closely; never: in what, not in when
    std::vector<Rank> left_out;  // ranks that no row holds, since their rows did not fit
};

// Ranks `apart` get rows of their own, and are never left out.
Folded fold(const Timeline& timeline, const std::set<Rank>& apart, std::size_t bytes_most);

}  // namespace deadrank::results::reports
