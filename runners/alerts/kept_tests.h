// runners/alerts/kept_tests.h — The generated promtool files as evidence: written even if promtool is
// missing, and run again to see that promtool's own exit code agrees with our verdicts.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "results/alerts/study.h"

namespace deadrank::runners::alerts {

// Errors: io.
scenarios::Result<void> write_tests(const results::alerts::Study& study,
                                    const std::vector<results::exporters::Incident>& incidents,
                                    const std::filesystem::path& directory);

// Sentences about kept files (.test.yml) that promtool does not pass: each must exit 0.
std::vector<std::string> verify_kept(const results::external::Promtool& tool,
                                     const std::filesystem::path& directory);

}  // namespace deadrank::runners::alerts
