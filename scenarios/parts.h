// scenarios/parts.h — The parts that scenario files and plans share: bug, workload, faults, expectation.
// Only for .cpp files of this room: it brings toml++.
#pragma once

#include "scenarios/plan.h"
#include "scenarios/setting_reader.h"

namespace deadrank::scenarios {

Bug read_bug(TomlReader& top, const Taxonomy& taxonomy, Problems& problems);

// nullptr when the kind is not known (which is then a problem).
const Kind* read_workload(TomlReader& top, std::string& kind, Settings& settings,
                          const Vocabulary& vocabulary, Problems& problems);

std::vector<FaultSettings> read_faults(TomlReader& top, const Vocabulary& vocabulary, const Kind* workload,
                                       Problems& problems);

Expectation read_expectation(TomlReader& top, const Bug& bug, const Taxonomy& taxonomy, Problems& problems);

}  // namespace deadrank::scenarios
