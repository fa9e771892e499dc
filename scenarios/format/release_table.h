// scenarios/format/release_table.h — [release]: a bug that two published releases show, one with it and one
// without.
#pragma once

#include "scenarios/format/reader.h"
#include "scenarios/model/scenario.h"

namespace deadrank::scenarios {

// The workload and the fault that [release] stands for; `scenario.file` must be known, since the program lies
// beside it. False where the file has no such table.
bool read_release(Reader& top, Scenario& scenario);

}  // namespace deadrank::scenarios
