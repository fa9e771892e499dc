// runners/commands/determinism_report.h — What `deadrank determinism` prints of the trials that it compared.
#pragma once

#include <vector>

#include "runners/studies/determinism_check.h"

namespace deadrank::runners::commands {

void print_checked_json(const std::vector<Checked>& all);

// A line a scenario, a story for each that differs, and a last line that counts.
void print_checked(const std::vector<Checked>& all, bool quiet, double seconds);

}  // namespace deadrank::runners::commands
