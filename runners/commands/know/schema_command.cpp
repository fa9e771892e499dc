// runners/commands/know/schema_command.cpp — deadrank new schema: the schema of scenario files for editors,
// printed from the words that this build knows, so that it cannot go stale.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>

#include "runners/commands/command.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/pipeline/library.h"
#include "scenarios/format/schema.h"

namespace deadrank::runners::commands {

namespace {

void add_schema(CLI::App& command, Session& session) {
    command.footer(
        "Put `#:schema ./scenario.schema.json` into a scenario's first lines, or name the file in the "
        "settings of "
        "taplo (Even Better TOML); the editor then completes and checks while one types.\n\n"
        "Example:\n"
        "  deadrank new schema > scenario.schema.json");
    auto catalog = std::make_shared<std::string>();
    add_catalog(command, *catalog);
    command.callback([catalog, &session] {
        auto library = open_library(session.executable, session.extension, *catalog);
        if (session.take(library))
            print_out("{}", scenarios::editor_schema(library->taxonomy, library->vocabulary));
    });
}

}  // namespace

extern const CommandRow schema_row{"schema", "Prints the JSON Schema of scenario files, for editors",
                                   add_schema};

}  // namespace deadrank::runners::commands
