// runners/commands/schema.cpp — Printed from the words that this build knows, so it cannot fall behind.
#include "runners/commands/schema.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>

#include "runners/commands/options.h"
#include "runners/line/library.h"
#include "scenarios/format/schema.h"

namespace deadrank::runners::commands {

void add_schema(CLI::App& app, Session& session) {
    CLI::App* command = app.add_subcommand("schema", "Prints the JSON Schema of scenario files, for editors");
    command->footer(
        "Put `#:schema ./scenario.schema.json` into a scenario's first lines, or name the file in the "
        "settings of "
        "taplo (Even Better TOML); the editor then completes and checks while one types.\n\n"
        "Example:\n"
        "  deadrank schema > scenario.schema.json");
    auto catalog = std::make_shared<std::string>();
    add_catalog(*command, *catalog);
    command->callback([catalog, &session] {
        auto library = open_library(session.executable, session.extension, *catalog);
        if (session.take(library))
            fmt::print("{}", scenarios::editor_schema(library->taxonomy, library->vocabulary));
    });
}

}  // namespace deadrank::runners::commands
