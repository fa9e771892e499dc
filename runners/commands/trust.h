// runners/commands/trust.h — Asks before somebody else's file decides which code real processes load or run.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runners/backends/local/manifest.h"
#include "runners/pipeline/library.h"
#include "scenarios/model/plan.h"

namespace CLI {
class App;
}

namespace deadrank::runners::commands {

void add_trust(CLI::App& command, bool& trust);  // --trust

// The settings that decide which code real processes load or run, one line each:
// `[cluster] environment: LD_PRELOAD = "/tmp/x.so"`. Control characters are escaped.
std::vector<std::string> list_code_settings(const scenarios::Scenario& scenario);
std::vector<std::string> list_code_settings(const scenarios::Plan& plan);
std::vector<std::string> list_code_settings(const Manifest& manifest);

// False for everything if the data were found beside --catalog instead of with the program.
bool is_shipped(const Library& library, const std::filesystem::path& file);

// Errors: usage, with all of `settings`; nothing if there are none.
scenarios::Result<void> refuse_code(const std::string& file, const std::vector<std::string>& settings);

// Checks all scenarios that are not shipped. Errors: usage, for the first with such settings.
scenarios::Result<void> check_trust(const Library& library,
                                    const std::vector<scenarios::Scenario>& scenarios);

}  // namespace deadrank::runners::commands
