// results/reports/junit.h — Cases as JUnit XML for CI: one testcase a scenario and seed; unknown is skipped,
// never passed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "results/judging/case.h"

namespace deadrank::results::reports {

std::string junit_document(const std::vector<Case>& cases);
scenarios::Result<void> write_junit(const std::vector<Case>& cases, const std::filesystem::path& file);

}  // namespace deadrank::results::reports
