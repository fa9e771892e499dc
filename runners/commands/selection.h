// runners/commands/selection.h — From what was typed to the scenarios meant: ids, files, directories,
// patterns, filters.
#pragma once

#include <string>
#include <vector>

#include "runners/commands/options.h"
#include "runners/line/library.h"

namespace deadrank::runners::commands {

struct Selection {
    std::vector<scenarios::Scenario> scenarios;  // in order of id, each once
    std::vector<scenarios::Error> broken;        // files that do not load
};

// Errors: usage, for a name that is nothing (the nearest id is offered), an id of the taxonomy that does not
// exist, or when nothing is left.
scenarios::Result<Selection> select(const Library& library, const SelectionOptions& options);

// Where the backend can play it at all, by what the scenario states.
bool playable_on(const scenarios::Scenario& scenario, std::string_view backend);

// Shell patterns over ids: '*' any text, '?' one character.
bool matches_pattern(std::string_view pattern, std::string_view text);

}  // namespace deadrank::runners::commands
