// runners/runner/vocabulary.cpp — The joined words.
#include "runners/runner/vocabulary.h"

#include "inject/core/fault.h"
#include "sim/workloads/catalog.h"

namespace deadrank::runners {

scenarios::Vocabulary vocabulary(const Extension& extension) {
    scenarios::Vocabulary words;
    for (const inject::FaultRow& kind : inject::fault_catalog()) words.faults.push_back(kind.words);
    for (const sim::WorkloadKind& kind : sim::workload_catalog()) words.workloads.push_back(kind.words);
    for (const sim::WorkloadKind& kind : extension.workloads) words.workloads.push_back(kind.words);
    return words;
}

}  // namespace deadrank::runners
