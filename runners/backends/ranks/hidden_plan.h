// runners/backends/ranks/hidden_plan.h — A plan as a rank may read it: what to run and what to break, and
// nothing of the bug it stands for or of what must be noticed.
#pragma once

#include <filesystem>

#include "scenarios/model/plan.h"

namespace deadrank::runners {

std::string hidden_plan_text(scenarios::Plan plan);
scenarios::Result<scenarios::Plan> read_hidden_plan(const std::filesystem::path& file);

}  // namespace deadrank::runners
