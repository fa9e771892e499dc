// runners/backends/sim/patched_packages.h — Files of installed Python packages that a plan's patches change.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "scenarios/model/plan.h"

namespace deadrank::runners {

// The changed texts, by the file that this Python would import. No file is written. Errors: unsupported, if the package
// is not installed, has no such lines, or is to be changed on some ranks only.
scenarios::Result<std::map<std::string, std::string>> patched_packages(const std::filesystem::path& python,
                                                                       const scenarios::Plan& plan);

}  // namespace deadrank::runners
