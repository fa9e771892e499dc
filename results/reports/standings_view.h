// results/reports/standings_view.h — How a program stood a bug, as the page's data: a cell of its
// table. JSON in a form of its own, which only the page reads.
#pragma once

#include "results/judging/resilience.h"
#include "results/reports/json_parts.h"

namespace deadrank::results::reports {

// Without the number of its case on the page: that is known last.
Json standing_view(const Standing& standing);

}  // namespace deadrank::results::reports
