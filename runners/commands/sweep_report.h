// runners/commands/sweep_report.h — The map: a row for each fault, a sign for each step, the worst rank of
// it.
#pragma once

#include <string>

#include "results/text/style.h"
#include "runners/find/sweep.h"

namespace deadrank::runners::commands {

// `whole`: below each row that is not all well, one line for each rank.
std::string sweep_text(const find::Sweep& sweep, const results::reports::Style& style, bool whole,
                       double seconds);
std::string sweep_json(const find::Sweep& sweep);

}  // namespace deadrank::runners::commands
