// scenarios/format/heal.h — Reads [heal]: what the fix makes of each fault, which settings it changes, and
// what is then expected.
#pragma once

#include "scenarios/format/reader.h"
#include "scenarios/model/scenario.h"

namespace deadrank::scenarios {

Heal read_heal(Reader& top, const Kind* workload, const std::vector<FaultSettings>& faults,
               const Taxonomy& taxonomy, const Vocabulary& vocabulary);

}  // namespace deadrank::scenarios
