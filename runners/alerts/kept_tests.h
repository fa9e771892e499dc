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

// Sentences about files whose exit code contradicts the verdicts: a kept .test.yml must exit 0, an .edges.yml
// must exit 1 exactly when some alert was active.
std::vector<std::string> verify_kept(const results::alerts::Study& study,
                                     const results::external::Promtool& tool,
                                     const std::filesystem::path& directory);

}  // namespace deadrank::runners::alerts
