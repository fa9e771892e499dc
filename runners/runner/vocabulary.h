// runners/runner/vocabulary.h — All words that a scenario may use, joined from the two rooms that own them.
#pragma once

#include "runners/runner/extension.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::runners {

// The faults of inject/faults/catalog.cpp, the workloads of sim/workloads/catalog.cpp, and those of the
// extension.
scenarios::Vocabulary vocabulary(const Extension& extension = {});

}  // namespace deadrank::runners
