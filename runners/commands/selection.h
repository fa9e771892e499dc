// runners/commands/selection.h — Options that several commands share, with one wording each: which scenarios,
// which seeds, which plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runners/pipeline/library.h"
#include "scenarios/model/plan.h"

namespace CLI {
class App;
}

namespace deadrank::runners::commands {

// ── Option groups that several commands share, with one wording each.

// Which scenarios: files, directories, ids, globs, and filters on their bug.
struct SelectionOptions {
    std::vector<std::string> names;
    std::vector<std::string> stages, symptoms, causes, fixes, classes;
    std::string catalog;
};
void add_selection(CLI::App& app, SelectionOptions& options);
void add_catalog(CLI::App& app, std::string& catalog);
void add_json(CLI::App& app, bool& json, const std::string& what);

struct SeedOptions {
    std::uint64_t seed = 1;
    std::string range;  // "A..B"
};
void add_seeds(CLI::App& app, SeedOptions& options);

// Seconds in which the logs of one incident are read.
void add_read_limit(CLI::App& app, std::int64_t& seconds);

// Bytes that one simulated run may take; stays 0 without the option.
void add_memory(CLI::App& app, std::int64_t& bytes);

// Ascending. Errors: usage, when the range is not "A..B" with A ≤ B, or has more than a million seeds.
scenarios::Result<std::vector<scenarios::Seed>> seeds_of(const SeedOptions& options);

// ── From the typed words to scenarios: ids, files, directories, patterns, filters.

struct Selection {
    std::vector<scenarios::Scenario> scenarios;  // in order of id, each once
    std::vector<scenarios::Error> broken;        // files that do not load
};

// Errors: usage, for an unknown name (the nearest id is suggested), an unknown taxonomy id, or when nothing
// is left.
scenarios::Result<Selection> select(const Library& library, const SelectionOptions& options);

// Whether the scenario's file lists this backend; without a list, only sim.
bool playable_on(const scenarios::Scenario& scenario, std::string_view backend);

// Shell patterns over ids: '*' any text, '?' one character.
bool matches_pattern(std::string_view pattern, std::string_view text);

// A command's input: a plan's file, or a scenario under a seed.
// A file with a [plan] is a plan, whatever its name; everything else is a scenario's id or file. Errors:
// those of loading and resolving; usage when several scenarios match.
scenarios::Result<scenarios::Plan> one_plan(const Library& library, const std::string& what,
                                            std::uint64_t seed);

}  // namespace deadrank::runners::commands
