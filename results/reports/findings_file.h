// results/reports/findings_file.h — Findings as a file, so that a run can be judged again without detecting
// again.
#pragma once

#include <filesystem>
#include <vector>

#include "results/record/evidence.h"
#include "results/record/finding.h"
#include "scenarios/model/error.h"

namespace deadrank::results::reports {

scenarios::Result<void> write_findings(const std::vector<Finding>& findings,
                                       const std::filesystem::path& file);
scenarios::Result<std::vector<Finding>> read_findings(const std::filesystem::path& file);

}  // namespace deadrank::results::reports
