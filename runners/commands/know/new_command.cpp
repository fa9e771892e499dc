// runners/commands/know/new_command.cpp — deadrank new: writes a commented skeleton of a scenario. The
// skeleton loads as it is; an existing file is never overwritten.
#include <CLI/CLI.hpp>
#include <cstdlib>
#include <fmt/format.h>
#include <memory>

#include "results/record/text_file.h"
#include "runners/commands/command.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/pipeline/library.h"
#include "scenarios/format/skeleton.h"

namespace deadrank::runners::commands {

namespace {

using scenarios::ErrorCode;
namespace fs = std::filesystem;

struct NewScenarioArguments {
    scenarios::SkeletonWish wish{.id = {},
                                 .symptom = "collective_deadlock_hang",
                                 .fault = "kill_rank",
                                 .cause = {},
                                 .fix = {},
                                 .workload = {}};
    std::string catalog;
    bool print = false;
};

// The catalogue that was named, or one in the working directory, as in a checkout. Else the working
// directory: the catalogue of an installed program belongs to the package.
fs::path place_for(const Library& library, const NewScenarioArguments& arguments, const fs::path& here) {
    const bool named = !arguments.catalog.empty() || std::getenv("DEADRANK_CATALOG") != nullptr;
    const fs::path within = library.catalog.lexically_proximate(here);
    return named || (!within.empty() && *within.begin() != "..") ? library.catalog : here;
}

void create(const NewScenarioArguments& arguments, Session& session) {
    auto library = open_library(session.executable, session.extension, arguments.catalog);
    if (!session.take(library)) return;
    auto text = scenarios::skeleton(arguments.wish, library->taxonomy, library->vocabulary);
    if (!session.take(text)) return;
    if (arguments.print) {
        print_out("{}", *text);
        return;
    }
    std::error_code ignored;
    const fs::path file =
        place_for(*library, arguments, fs::current_path(ignored)) / (arguments.wish.id + ".toml");
    if (fs::exists(file, ignored)) {
        session.complain({ErrorCode::usage,
                          "is there already",
                          "choose another name, or --print to see the skeleton",
                          {file.string()}});
        return;
    }
    auto written = results::write_text(*text, file);
    if (!written) {
        session.complain(written.error());
        return;
    }
    const bool by_id = file == library->catalog / (arguments.wish.id + ".toml");
    print_out("{}\n  Edit it, then: deadrank run {}\n", file.string(),
              by_id ? arguments.wish.id : file.lexically_proximate(fs::current_path(ignored)).string());
}

void add_new(CLI::App& command, Session& session) {
    command.footer(
        "The skeleton loads and plays as it stands; its comments say what to write where. It goes below the "
        "catalog that --catalog or DEADRANK_CATALOG names, else below the working directory.\n\n"
        "Example:\n"
        "  deadrank new communication/my_bug --symptom collective_mismatch_error --fault resize_collective");
    auto arguments = std::make_shared<NewScenarioArguments>();
    scenarios::SkeletonWish& wish = arguments->wish;
    command.add_option("id", wish.id, "stage/name of the scenario, as communication/my_bug")
        ->required()
        ->type_name("ID");
    const auto word = [&](const char* name, std::string& value, const char* what) {
        command.add_option(name, value, what)->type_name("ID");
    };
    word("--symptom", wish.symptom, "What one sees [collective_deadlock_hang]");
    word("--fault", wish.fault, "The kind of fault [kill_rank]");
    word("--cause", wish.cause, "The root cause [the most reported one of the symptom]");
    word("--fix", wish.fix, "The fix pattern [the most frequent one of the cause]");
    word("--workload", wish.workload, "The kind of workload [the first there is]");
    command.add_flag("--print", arguments->print, "Print it instead of writing it");
    add_catalog(command, arguments->catalog);
    command.callback([arguments, &session] { create(*arguments, session); });
}

}  // namespace

extern const CommandRow new_row{"new", "Writes a commented skeleton of a scenario", add_new};

}  // namespace deadrank::runners::commands
