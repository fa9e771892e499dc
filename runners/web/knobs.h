// runners/web/knobs.h — The settings of a scenario that a person may turn, and how its text changes when they
// do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runners/pipeline/library.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners::web {

// One setting: of [cluster], of [workload], of a [[fault]] or of its `when`.
struct Knob {
    std::string path;     // "cluster.nodes", "fault.0.rank", "fault.0.when.step"
    std::string part;     // "cluster", "workload data_parallel", "fault kill_rank", "when"
    std::string name;     // "nodes"
    std::string what;     // one sentence
    std::string type;     // "an integer", "a duration", …
    std::string written;  // as the file has it, "3..15"; empty = not in the file
    std::string value;    // under this seed, "7"; empty = absent
    std::vector<std::string> choices;
};

// In the order of the file's tables. `trial` is the scenario under a seed.
std::vector<Knob> list_knobs(const scenarios::Scenario& scenario, const scenarios::Plan& plan,
                             std::string_view text, const scenarios::Vocabulary& vocabulary);

// The text with one setting changed or added, and everything else as it was, comments too. `value` is what a
// person types: 3, 1..5, any, true, 2x, [0, 1]; an empty one takes the setting out. Errors: bad_input (the
// text is not TOML), usage (no such table, a value that cannot be written).
scenarios::Result<std::string> set_in_text(std::string_view text, std::string_view path,
                                           std::string_view value);

}  // namespace deadrank::runners::web
