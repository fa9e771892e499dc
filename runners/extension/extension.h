// runners/extension/extension.h — All names that a scenario may use: ours, and those that a framework
// developer adds from her own tree. See runners/suites/README.md.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "inject/core/fault.h"
#include "results/detectors/detector.h"
#include "scenarios/model/vocabulary.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::sim::managed {
class WarmPython;
}

namespace deadrank::runners {

// What a framework developer adds from her own tree: workloads, detectors and faults that every
// command treats like ours. See runners/suites/README.md.
struct Extension {
    std::filesystem::path data = {};  // where taxonomy.toml and catalog/ are; empty = near the program
    std::vector<sim::WorkloadKind> workloads = {};       // names that our catalog does not have
    std::function<results::Detectors()> detectors = {};  // creates hers; empty = none
    inject::FaultCatalog faults =
        {};  // kinds that our catalogue does not have; the simulator alone plays them

    // The interpreters that scenarios of real programs share; set by the program.
    std::shared_ptr<sim::managed::WarmPython> python = {};

    // Ours, then hers.
    results::Detectors all_detectors() const;
    inject::FaultCatalog all_faults() const;
};

// All names that a scenario may use: the faults and workloads of scenarios/model/kind_ids.h, and those of the
// extension.
scenarios::Vocabulary vocabulary(const Extension& extension = {});

}  // namespace deadrank::runners
