// runners/backend/extension.h — All names that a scenario may use: ours, and those that a framework developer
// adds from her own tree. See runners/suites/README.md.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "results/detectors/detector.h"
#include "scenarios/model/vocabulary.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::runners {

// What a framework developer adds from her own tree: workloads and detectors that every command treats like
// ours. See runners/suites/README.md.

struct Extension {
    std::filesystem::path data = {};  // where taxonomy.toml and catalog/ are; empty = near the program
    std::vector<sim::WorkloadKind> workloads = {};       // names that our catalog does not have
    std::function<results::Detectors()> detectors = {};  // creates hers; empty = none

    // Ours, then hers.
    results::Detectors all_detectors() const;
};

// All names that a scenario may use: the faults of inject/faults/fault_catalog.cpp, the workloads of
// sim/workloads/workload_catalog.cpp, and those of the extension.
scenarios::Vocabulary vocabulary(const Extension& extension = {});

}  // namespace deadrank::runners
