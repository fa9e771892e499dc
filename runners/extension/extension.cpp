// runners/extension/extension.cpp — All names that a scenario may use: ours, and those that a framework
// developer adds from her own tree. See runners/suites/README.md.
#include "runners/extension/extension.h"

#include <iterator>

#include "inject/faults/fault_catalog.h"
#include "scenarios/model/python_program.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::runners {

// Joins the two tables of detectors.
results::Detectors Extension::all_detectors() const {
    results::Detectors all = results::all_detectors();
    if (!detectors) return all;
    results::Detectors hers = detectors();
    all.insert(all.end(), std::make_move_iterator(hers.begin()), std::make_move_iterator(hers.end()));
    return all;
}

inject::FaultCatalog Extension::all_faults() const {
    inject::FaultCatalog all = inject::fault_catalog();
    all.insert(all.end(), faults.begin(), faults.end());
    return all;
}

scenarios::Vocabulary vocabulary(const Extension& extension) {
    scenarios::Vocabulary words;
    for (const inject::FaultRow& kind : extension.all_faults()) words.faults.push_back(kind.words);
    for (const sim::WorkloadKind& kind : sim::workload_catalog()) words.workloads.push_back(kind.words);
    words.workloads.push_back(scenarios::python_kind());
    words.workloads.push_back(sim::recorded_workload().words);
    for (const sim::WorkloadKind& kind : extension.workloads) words.workloads.push_back(kind.words);
    return words;
}

}  // namespace deadrank::runners
