// scenarios/program/program_kind.h — What a file makes of the workload `program`: its texts are checked, and
// the names that they publish for faults, and the settings of `let`, become words of the kind.
#pragma once

#include <string>
#include <vector>

#include "scenarios/model/document.h"
#include "scenarios/model/value.h"
#include "scenarios/model/vocabulary.h"
#include "scenarios/program/program_names.h"

namespace deadrank::scenarios::program {

inline constexpr std::string_view kind_name = "program";  // of the workload
inline constexpr const char* let_prefix = "let.";

// `table` is [workload], `over` is [heal.workload], whose texts replace those of the table, or nullptr.
// Adds to `kind`; what is wrong has the place in the file.
std::vector<Error> complete(const Node& table, const Node* over, Kind& kind);

// The program that a plan holds.
Source source_of(const Values& workload);

// "line 3 of step"
std::string place_text(const Spot& spot);
std::string_view part_name(Part part);

}  // namespace deadrank::scenarios::program
