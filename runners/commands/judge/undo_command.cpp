// runners/commands/judge/undo_command.cpp — deadrank undo: undoes what a killed run left on this machine.
// Reads the journals of processes that no longer exist.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

#include "results/record/words.h"
#include "runners/backends/process/journal.h"
#include "runners/commands/command.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"

namespace deadrank::runners::commands {

namespace {

struct UndoArguments {
    bool dry = false, json = false;
};

constexpr const char* undo_footer =
    "Runs on real machines write down what they change before they change it, and take it back when they "
    "end. A "
    "run that was killed could not; this command does. Journals of runs that are still going on are left "
    "alone.\n\n"
    "Exit code: 0 all is as it was, 1 something could not be taken back.\n\n"
    "Examples:\n"
    "  deadrank undo --dry-run    what is left\n"
    "  deadrank undo              take it back";

std::vector<Undone> only_told(const std::vector<Leftover>& left) {
    std::vector<Undone> told;
    for (const Leftover& one : left) {
        for (const UndoAction& action : one.actions)
            told.push_back({action, true, fmt::format("would {} {}", name_of(action.undo), action.of)});
    }
    return told;
}

void undo_command(const UndoArguments& arguments, Session& session) {
    auto left = leftovers();
    if (!session.take(left)) return;
    const std::vector<Undone> all = arguments.dry ? only_told(*left) : undo(*left);
    const bool whole = std::all_of(all.begin(), all.end(), [](const Undone& one) { return one.done; });
    if (arguments.json) {
        auto list = nlohmann::ordered_json::array();
        for (const Undone& one : all)
            list.push_back({{"undo", name_of(one.action.undo)},
                            {"of", one.action.of},
                            {"done", one.done && !arguments.dry},
                            {"says", one.says}});
        print_out("{}\n", list.dump(2));
    } else {
        for (const Undone& one : all) print_out("  {}\n", one.says);
        print_out("  {}\n", all.empty() ? "nothing was left" : results::counted(all.size(), "change"));
    }
    session.code = whole ? exit_pass : exit_fail;
}

void add_undo(CLI::App& command, Session& session) {
    command.footer(undo_footer);
    auto arguments = std::make_shared<UndoArguments>();
    command.add_flag("-n,--dry-run", arguments->dry, "Only say what would be done");
    add_json(command, arguments->json, "A JSON array of what was done");
    command.callback([arguments, &session] { undo_command(*arguments, session); });
}

}  // namespace

extern const CommandRow undo_row{"undo", "Cleans up what a killed run left on this machine", add_undo};

}  // namespace deadrank::runners::commands
