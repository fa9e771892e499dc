// runners/sim/vocabulary.h — All words that a scenario may use, joined from the two rooms that own them.
#pragma once

#include "scenarios/vocabulary.h"

namespace deadrank::runners {

// The faults of inject/catalog.cpp and the workloads of sim/workloads/catalog.cpp.
scenarios::Vocabulary vocabulary();

}  // namespace deadrank::runners
