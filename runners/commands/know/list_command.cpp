// runners/commands/know/list_command.cpp — deadrank list: the catalog, one line per scenario, with the same
// filters as run: id, symptom, cause, and the backends that can play it.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <nlohmann/json.hpp>

#include "results/record/words.h"
#include "runners/commands/command.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"

namespace deadrank::runners::commands {

namespace {

using results::reports::Ink;
using results::reports::pad_right;

struct ListArguments {
    SelectionOptions selection;
    std::string runner;
    bool json = false;
};

nlohmann::ordered_json to_json(const scenarios::Scenario& scenario) {
    return {{"id", scenario.id},
            {"file", scenario.file.string()},
            {"digest", scenario.digest},
            {"title", scenario.teach.title},
            {"stage", scenario.bug.stage},
            {"symptom", scenario.bug.symptom},
            {"cause", scenario.bug.cause},
            {"fix", scenario.bug.fix},
            {"replays", scenario.bug.replays},
            {"workload", scenario.workload_kind},
            {"backends", scenario.backends.empty() ? std::vector<std::string>{"sim"} : scenario.backends},
            {"story", scenario.story}};
}

void print_scenarios_json(const std::vector<scenarios::Scenario>& scenarios) {
    auto all = nlohmann::ordered_json::array();
    for (const auto& scenario : scenarios) all.push_back(to_json(scenario));
    print_out("{}\n", all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void print_scenarios_text(const std::vector<scenarios::Scenario>& scenarios) {
    const auto style = style_of(stdout);
    std::size_t longest = 0;
    for (const auto& scenario : scenarios) longest = std::max(longest, scenario.id.size());
    std::string stage;
    for (const auto& scenario : scenarios) {
        if (scenario.bug.stage != stage) {
            print_out("{}{}\n", stage.empty() ? "" : "\n", style.paint(Ink::bold, scenario.bug.stage));
            stage = scenario.bug.stage;
        }
        const std::string where =
            scenario.backends.empty() ? "sim" : fmt::format("{}", fmt::join(scenario.backends, " "));
        const std::size_t room = style.width > longest + 12 ? style.width - longest - 4 : 0;
        const std::string words =
            fmt::format("{} · {} · {}", scenario.bug.symptom, scenario.bug.cause, where);
        print_out("  {}  {}\n", pad_right(scenario.id, longest),
                  style.paint(Ink::dim, style.cut(words, room)));
    }
    print_out("\n  {}\n", results::counted(scenarios.size(), "scenario"));
}

void list_scenarios(const ListArguments& arguments, Session& session) {
    auto library = open_library(session.executable, session.extension, arguments.selection.catalog);
    if (!session.take(library)) return;
    auto selection = select(*library, arguments.selection);
    if (!session.take(selection)) return;
    if (!arguments.runner.empty()) {
        std::erase_if(selection->scenarios,
                      [&](const auto& one) { return !playable_on(one, arguments.runner); });
    }
    if (arguments.json) print_scenarios_json(selection->scenarios);
    if (!arguments.json) print_scenarios_text(selection->scenarios);
    for (const scenarios::Error& error : selection->broken) session.complain(error);
}

void add_list(CLI::App& command, Session& session) {
    command.footer(
        "Examples:\n"
        "  deadrank list --symptom collective_deadlock_hang\n"
        "  deadrank list communication --json");
    auto arguments = std::make_shared<ListArguments>();
    add_selection(command, arguments->selection);
    command.add_option("--runner", arguments->runner, "Only what this runner can play: sim, local, mpi, gpu")
        ->type_name("NAME");
    add_json(command, arguments->json, "A JSON array instead of text");
    command.callback([arguments, &session] { list_scenarios(*arguments, session); });
}

}  // namespace

extern const CommandRow list_row{"list", "Lists scenarios, with the names and filters of run", add_list};

}  // namespace deadrank::runners::commands
