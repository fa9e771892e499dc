// runners/program/program.cpp — The command line as a whole: its commands in groups; finds the requested
// command, or suggests the nearest one.
#include "runners/program/program.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <sstream>

#include "runners/commands/command.h"
#include "runners/commands/screen.h"
#include "runners/commands/under_test.h"
#include "runners/pipeline/build.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::runners {

using namespace commands;

// ── Gives the parser's errors our form, with the nearest known word.

namespace {

using scenarios::Error;
using scenarios::ErrorCode;

constexpr const char* program_description =
    "deadrank breaks distributed training on purpose, the same way every time, and tells whether anybody "
    "noticed.";
constexpr const char* program_footer =
    "`deadrank COMMAND --help`, or `deadrank help COMMAND`, says more of each.\n"
    "Exit code: 0 pass, 1 fail, 2 unknown, 64 the command line or a file is wrong.";

std::vector<std::string> option_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
    return names;
}

// The command at which the parser gave up.
const CLI::App& reached(const CLI::App& app) {
    const auto under_way = app.get_subcommands();
    return under_way.empty() ? app : *under_way.front();
}

// CLI11 lists unrecognised words after a colon.
std::string refused_word(const CLI::ParseError& error) {
    const std::string text = error.what();
    const std::size_t colon = text.rfind(": ");
    std::string words = colon == std::string::npos ? "" : text.substr(colon + 2);
    return words.substr(0, words.find(' '));
}

Error usage_error(const CLI::App& app, const CLI::ParseError& error) {
    const CLI::App& command = reached(app);
    const std::string help =
        fmt::format("see deadrank {}--help", &command == &app ? "" : command.get_name() + " ");
    if (dynamic_cast<const CLI::ExtrasError*>(&error)) {
        const std::string word = refused_word(error);
        const std::string near = scenarios::nearest(word.substr(0, word.find('=')), option_names(command));
        return {ErrorCode::usage, fmt::format("'{}' is not understood here", word),
                near.empty() ? help : fmt::format("did you mean '{}'?", near)};
    }
    std::string what = error.what();
    return {ErrorCode::usage, what.substr(0, what.find('\n')), help};
}

bool is_command(std::string_view word) {
    const auto& rows = all_commands();
    return std::any_of(rows.begin(), rows.end(), [&](const CommandRow* row) { return row->name == word; });
}

// The first word, or the one after `help`, if it is not a command.
const char* unknown_command(int argc, const char* const* argv) {
    if (argc < 2 || argv[1][0] == '-') return nullptr;
    const bool help = std::string_view(argv[1]) == "help";
    if (help && argc < 3) return nullptr;
    const char* word = help ? argv[2] : argv[1];
    return is_command(word) || (help && word[0] == '-') ? nullptr : word;
}

// `help run` is `run --help`, and `help` alone is `--help`.
std::vector<std::string> help_words(const std::vector<std::string>& words) {
    if (words.size() < 2 || words[1].starts_with('-')) return {"--help"};
    return {words[1], "--help"};
}

Error no_such_command(const std::string& word) {
    std::vector<std::string> names;
    for (const CommandRow* row : all_commands()) names.emplace_back(row->name);
    const std::string near = scenarios::nearest(word, names);
    return {ErrorCode::usage, fmt::format("'{}' is not a command", word),
            near.empty() ? "deadrank --help lists them" : fmt::format("did you mean '{}'?", near)};
}

int run_commands(int argc, const char* const* argv, const Extension& given) {
    Extension extension = given;
    if (!extension.python) extension.python = std::make_shared<sim::managed::WarmPython>();
    Session session{.executable = {}, .extension = extension};
    std::error_code trouble;
    session.executable = std::filesystem::read_symlink("/proc/self/exe", trouble);
    if (trouble) session.executable = std::filesystem::absolute(argv[0], trouble);
    if (const char* word = unknown_command(argc, argv)) {
        session.complain(no_such_command(word));
        return session.code;
    }
    CLI::App app(program_description, "deadrank");
    app.footer(program_footer);
    app.set_version_flag("--version", "deadrank " + this_build().version);
    app.get_formatter()->column_width(30);
    for (const CommandGroup& group : command_groups()) {
        for (const CommandRow* row : group.rows) {
            CLI::App& command = *app.add_subcommand(std::string(row->name), std::string(row->what));
            command.group(std::string(group.title));
            row->add(command, session);
        }
    }
    if (argc < 2) {
        print_error("{}", app.help());
        return exit_usage;
    }
    try {
        std::vector<std::string> words = with_command(argc, argv);
        words.erase(words.begin());
        if (!words.empty() && words.front() == "help") words = help_words(words);
        std::reverse(words.begin(), words.end());  // this parse() takes them in reverse
        app.parse(std::move(words));
    } catch (const CLI::Success& asked) {  // --help, --version
        std::ostringstream text;
        const int code = app.exit(asked, text, text);
        print_out("{}", text.str());
        return code;
    } catch (const CLI::ParseError& error) {
        session.complain(usage_error(app, error));
    }
    return session.code;
}

// A verdict that nobody could read is no success; that the program passed is all the more no news.
int check_output(int code, const Extension& extension) {
    const auto lost = results::reports::lost_output();
    if (!lost) return code;
    if (*lost == EPIPE)
        return 128 + SIGPIPE;  // `| head` has read enough: as programs that know no better end
    Session session{.executable = {}, .extension = extension};
    session.complain({ErrorCode::io,
                      fmt::format("standard output could not be written: {}", std::strerror(*lost)),
                      "look whether the disk is full"});
    return code == exit_pass ? session.code : code;
}

}  // namespace

int run_program(int argc, const char* const* argv, const Extension& extension) {
    return check_output(run_commands(argc, argv, extension), extension);
}

// ── The commands, one line each, in the groups and the order of `deadrank --help`.

namespace commands {
extern const CommandRow run_row, watch_row, list_row, explain_row, learn_row, plan_row, replay_row,
    determinism_row, releases_row, judge_row, diagnose_row, parity_row, promises_row, resilience_row,
    campaign_row, inject_row, sweep_row, test_row, storm_row, swarm_row, shrink_row, trace_row, probe_row, alerts_row, serve_row,
    score_row, emit_row, import_row, ras_row, conformance_row, doctor_row, undo_row, coverage_row,
    taxonomy_row, new_row, schema_row, manual_row, version_row, completion_row;
}  // namespace commands

const std::vector<CommandGroup>& command_groups() {
    // clang-format off
    static const std::vector<CommandGroup> groups = {
        {"To play", {
            &run_row,
            &watch_row,
            &releases_row,
            &plan_row,
            &replay_row,
            &judge_row,
            &determinism_row,
            &trace_row,
        }},
        {"To find", {
            &inject_row,
            &sweep_row,
            &test_row,
            &swarm_row,
            &shrink_row,
            &probe_row,
            &campaign_row,
            &storm_row,
        }},
        {"To judge", {
            &alerts_row,
            &serve_row,
            &score_row,
            &conformance_row,
            &emit_row,
            &import_row,
            &ras_row,
            &resilience_row,
            &parity_row,
            &promises_row,
            &diagnose_row,
            &doctor_row,
            &undo_row,
        }},
        {"To know", {
            &list_row,
            &explain_row,
            &taxonomy_row,
            &coverage_row,
            &learn_row,
            &new_row,
            &schema_row,
            &manual_row,
            &version_row,
            &completion_row,
        }},
    };
    // clang-format on
    return groups;
}

const std::vector<const CommandRow*>& all_commands() {
    static const std::vector<const CommandRow*> rows = [] {
        std::vector<const CommandRow*> all;
        for (const CommandGroup& group : command_groups()) {
            all.insert(all.end(), group.rows.begin(), group.rows.end());
        }
        return all;
    }();
    return rows;
}

}  // namespace deadrank::runners
