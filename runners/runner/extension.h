// runners/runner/extension.h — What a framework developer brings from her own tree: workloads and detectors
// that stand beside ours in every command. See runners/suites/README.md.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "results/detectors/detect.h"
#include "sim/workloads/catalog.h"

namespace deadrank::runners {

struct Extension {
    std::filesystem::path data = {};  // where taxonomy.toml and catalog/ lie; empty = near the program
    std::vector<sim::WorkloadKind> workloads = {};       // names that our catalog does not have
    std::function<results::Detectors()> detectors = {};  // makes hers anew; empty = none

    // Ours, then hers.
    results::Detectors all_detectors() const;
};

}  // namespace deadrank::runners
