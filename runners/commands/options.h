// runners/commands/options.h — Option groups that several commands share, with one wording each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/model/plan.h"

namespace CLI {
class App;
}

namespace deadrank::runners::commands {

// Which scenarios: files, directories, ids, globs, and what their bug must be.
struct SelectionOptions {
    std::vector<std::string> names;
    std::vector<std::string> stages, symptoms, causes, fixes, classes;
    std::string catalog;

    bool filters() const {
        return !stages.empty() || !symptoms.empty() || !causes.empty() || !fixes.empty() || !classes.empty();
    }
};
void add_selection(CLI::App& app, SelectionOptions& options);
void add_catalog(CLI::App& app, std::string& catalog);
void add_json(CLI::App& app, bool& json, const std::string& what);

struct SeedOptions {
    std::uint64_t seed = 1;
    std::string range;  // "A..B"
};
void add_seeds(CLI::App& app, SeedOptions& options);

// Ascending. Errors: usage, when the range is not "A..B" with A ≤ B, or has more than a million seeds.
scenarios::Result<std::vector<scenarios::Seed>> seeds_of(const SeedOptions& options);

}  // namespace deadrank::runners::commands
