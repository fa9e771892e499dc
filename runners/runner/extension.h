// runners/runner/extension.h — All words that a scenario may use: ours, and those that a framework developer
// brings from her own tree. See runners/suites/README.md.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "results/detectors/detector.h"
#include "scenarios/model/vocabulary.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::runners {

// What a framework developer brings from her own tree: workloads and detectors that stand beside ours in
// every command. See runners/suites/README.md.

struct Extension {
    std::filesystem::path data = {};  // where taxonomy.toml and catalog/ lie; empty = near the program
    std::vector<sim::WorkloadKind> workloads = {};       // names that our catalog does not have
    std::function<results::Detectors()> detectors = {};  // makes hers anew; empty = none

    // Ours, then hers.
    results::Detectors all_detectors() const;
};

// All words that a scenario may use, joined from the two rooms that own them.

// The faults of inject/faults/fault_catalog.cpp, the workloads of sim/workloads/workload_catalog.cpp, and
// those of the extension.
scenarios::Vocabulary vocabulary(const Extension& extension = {});

}  // namespace deadrank::runners
