// runners/commands/judge/undo_command.cpp — deadrank undo: undoes what a killed run left on this machine.
// Reads the journals of processes that no longer exist.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <ctime>
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
    "A run on real processes writes each change to a journal first, and takes it back at its end. This command "
    "does so for runs that were killed, the latest first. Journals of runs that still go on are left alone.\n\n"
    "Exit code: 0 all is as it was, 1 something could not be taken back.\n\n"
    "Examples:\n"
    "  deadrank undo --dry-run    what is left\n"
    "  deadrank undo              take it back";

std::vector<Undone> preview_undo(const std::vector<Leftover>& left) {
    std::vector<Undone> told;
    for (std::size_t i = 0; i < left.size(); ++i) {
        for (const UndoAction& action : left[i].actions)
            told.push_back({action, true, fmt::format("would {} {}", name_of(action.undo), action.of), i});
    }
    return told;
}

// "2026-11-29 14:03:05, 12 min 5 s ago: deadrank inject …"
std::string heading_of(const Leftover& one) {
    const auto begun = static_cast<std::time_t>(one.begun);
    std::tm local{};
    ::localtime_r(&begun, &local);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
    const auto ago = std::max<std::int64_t>(0, static_cast<std::int64_t>(std::time(nullptr)) - one.begun);
    return fmt::format("{}, {} ago: {}", text, results::duration_text(results::Time(ago * 1'000'000'000)),
                       one.command.empty() ? "a run of an earlier release" : one.command);
}

void undo_command(const UndoArguments& arguments, Session& session) {
    auto left = leftovers();
    if (!session.take(left)) return;
    const std::vector<Undone> all = arguments.dry ? preview_undo(*left) : undo(*left);
    const bool whole = std::all_of(all.begin(), all.end(), [](const Undone& one) { return one.done; });
    if (arguments.json) {
        auto list = nlohmann::ordered_json::array();
        for (const Undone& one : all)
            list.push_back({{"undo", name_of(one.action.undo)},
                            {"of", one.action.of},
                            {"command", left->at(one.left_by).command},
                            {"begun", left->at(one.left_by).begun},
                            {"done", one.done && !arguments.dry},
                            {"says", one.says}});
        print_out("{}\n", list.dump(2));
    } else {
        for (std::size_t i = 0; i < left->size(); ++i) {
            const auto of_run = [i](const Undone& one) { return one.left_by == i; };
            if (std::none_of(all.begin(), all.end(), of_run)) continue;
            print_out("  {}\n", heading_of(left->at(i)));
            for (const Undone& one : all)
                if (of_run(one)) print_out("    {}\n", one.says);
        }
        print_out("  {}\n", all.empty() ? "nothing was left" : results::counted(all.size(), "change"));
    }
    session.code = whole ? exit_pass : exit_fail;
}

void add_undo(CLI::App& command, Session& session) {
    command.footer(undo_footer);
    auto arguments = std::make_shared<UndoArguments>();
    command.add_flag("-n,--dry-run", arguments->dry, "Only print what would be done");
    add_json(command, arguments->json, "A JSON array of what was done");
    command.callback([arguments, &session] { undo_command(*arguments, session); });
}

}  // namespace

extern const CommandRow undo_row{"undo", "Cleans up what a killed run left on this machine", add_undo};

}  // namespace deadrank::runners::commands
