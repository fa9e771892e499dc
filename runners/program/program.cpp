// runners/program/program.cpp — The command line as a whole: its commands in groups; finds the requested
// command, or suggests the nearest one.
#include "runners/program/program.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <sstream>

#include "results/reports/terminal.h"
#include "runners/commands/command.h"
#include "runners/commands/screen.h"
#include "runners/commands/under_test.h"
#include "runners/pipeline/build.h"
#include "runners/program/old_names.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::runners {

using namespace commands;
using namespace std::string_view_literals;

// ── Which command the words name: its name and verb, old names replaced.

namespace {

using scenarios::Error;
using scenarios::ErrorCode;
using Words = std::vector<std::string>;

const Command* find_command(std::string_view name) {
    static const std::vector<Command> all = all_commands();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Command& one) { return one.row->name == name; });
    return found == all.end() ? nullptr : &*found;
}

const CommandRow* find_verb(const Command& command, std::string_view name) {
    for (const CommandRow* verb : command.verbs)
        if (verb->name == name) return verb;
    return nullptr;
}

// What the first words name.
struct Chosen {
    const Command* command = nullptr;
    const CommandRow* verb = nullptr;

    std::string path() const {
        if (!command) return "";
        return verb ? fmt::format("{} {}", command->row->name, verb->name) : std::string(command->row->name);
    }
};

Chosen chosen_by(const Words& words) {
    Chosen chosen;
    if (!words.empty()) chosen.command = find_command(words[0]);
    if (chosen.command && words.size() > 1) chosen.verb = find_verb(*chosen.command, words[1]);
    return chosen;
}

const OldName* find_old_name(std::string_view word) {
    for (const OldName& name : old_names())
        if (name.old == word) return &name;
    return nullptr;
}

// Puts the new name where an old one stands: at the beginning, or behind `help`.
void replace_old_name(Words& words) {
    const std::size_t at = !words.empty() && words[0] == "help" ? 1 : 0;
    if (at >= words.size()) return;
    if (at == 1 && find_verb(*find_command("help"), words[1])) return;
    const OldName* name = find_old_name(words[at]);
    if (!name) return;
    print_error("deadrank: '{}' is now '{}'; the next release drops the old name\n", name->old, name->now);
    const std::size_t blank = name->now.find(' ');
    words[at] = name->now.substr(0, blank);
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                 std::string(name->now.substr(blank + 1)));
}

// `help run` is `run --help`, `help sweep swarm` is `sweep swarm --help`, and `help` alone is `--help`.
Words without_help(Words words) {
    if (words.empty() || words[0] != "help" || chosen_by(words).verb) return words;
    if (words.size() == 1) return {"--help"};
    if (words[1].starts_with('-')) return words;
    words.erase(words.begin());
    const std::size_t named = chosen_by(words).verb ? 2 : 1;
    words.resize(named);
    words.emplace_back("--help");
    return words;
}

Error no_such_command(const std::string& word) {
    Words names;
    for (const Command& command : all_commands()) names.emplace_back(command.row->name);
    for (const OldName& name : old_names()) names.emplace_back(name.old);
    std::string near = scenarios::nearest(word, names);
    if (const OldName* name = find_old_name(near)) near = name->now;
    return {ErrorCode::usage, fmt::format("'{}' is not a command", word),
            near.empty() ? "deadrank --help lists them" : fmt::format("did you mean '{}'?", near)};
}

// ── The parser: our form for its errors, with the nearest known word.

constexpr const char* program_description =
    "deadrank injects faults into distributed training, and judges who noticed.";
constexpr const char* program_footer =
    "`deadrank help COMMAND [VERB]` has the options and examples of each.\n"
    "Exit code: 0 pass, 1 fail, 2 unknown, 64 the command line or a file is wrong.\n";

// What `deadrank --help` prints: at most 40 lines of 80 columns.
std::string program_help() {
    std::string text = fmt::format("Usage: deadrank COMMAND [VERB] [OPTIONS]\n\n{}\n", program_description);
    for (const CommandGroup& group : command_groups()) {
        text += fmt::format("\n{}:\n", group.title);
        for (const Command& command : group.commands) {
            std::string line = fmt::format("  {:<10}{}", command.row->name, command.row->what);
            Words verbs;
            for (const CommandRow* verb : command.verbs) verbs.emplace_back(verb->name);
            const std::string with = verbs.empty() ? ""
                                                   : fmt::format("(verb{}: {})", verbs.size() == 1 ? "" : "s",
                                                                 fmt::join(verbs, ", "));
            if (!with.empty())
                line += line.size() + with.size() < 80 ? " " + with : fmt::format("\n{:12}{}", "", with);
            text += line + "\n";
        }
    }
    return text + "\n" + program_footer;
}

Words option_names(const CLI::App& app) {
    Words names;
    for (const CLI::Option* option : app.get_options())
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    return names;
}

Words verb_names(const CLI::App& app) {
    Words names;
    for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
        names.push_back(verb->get_name());
    return names;
}

// The command or verb at which the parser gave up.
const CLI::App& reached(const CLI::App& app) {
    const auto under_way = app.get_subcommands();
    return under_way.empty() ? app : reached(*under_way.front());
}

// The word that is wrong: the first unknown option. What follows it may be its value. Else the first word too
// many.
std::string refused_word(const CLI::App& command) {
    const Words left = command.remaining();
    const auto option =
        std::find_if(left.begin(), left.end(), [](const std::string& word) { return word.starts_with('-'); });
    if (option != left.end()) return *option;
    return left.empty() ? "" : left.front();
}

Error usage_error(const CLI::App& app, const std::string& path, const CLI::ParseError& error) {
    const CLI::App& command = reached(app);
    const std::string help = fmt::format("see deadrank {}--help", path.empty() ? "" : path + " ");
    const std::string word = refused_word(command);
    const bool option = word.starts_with('-');
    if (dynamic_cast<const CLI::ExtrasError*>(&error) || option) {
        const std::string near = scenarios::nearest(word.substr(0, word.find('=')),
                                                    option ? option_names(command) : verb_names(command));
        if (near.empty() && !option && takes_program(path))
            return {ErrorCode::usage, fmt::format("'{}' is not understood here", word),
                    fmt::format("put -- before the command of a program: deadrank {} -- torchrun train.py",
                                path)};
        return {ErrorCode::usage, fmt::format("'{}' is not understood here", word),
                near.empty() ? help : fmt::format("did you mean '{}'?", near)};
    }
    std::string what = error.what();
    return {ErrorCode::usage, what.substr(0, what.find('\n')), help};
}

// A program's command without `--` before it, as in `watch torchrun train.py`.
std::optional<Error> check_dashes(const std::string& path, const Words& words) {
    static constexpr std::array beginnings = {"torchrun"sv,  "python"sv, "python3"sv, "accelerate"sv,
                                              "deepspeed"sv, "mpirun"sv, "pytest"sv};
    if (!takes_program(path)) return std::nullopt;
    for (std::size_t i = 1; i < words.size() && words[i] != "--"; ++i) {
        if (words[i - 1].starts_with('-')) continue;  // may be the value of an option
        if (std::find(beginnings.begin(), beginnings.end(), words[i]) == beginnings.end()) continue;
        Words right(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i));
        right.emplace_back("--");
        right.insert(right.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
        for (std::string& word : right) word = results::reports::shell_quoted(word);
        return Error{ErrorCode::usage, fmt::format("'{}' begins the command of a program", words[i]),
                     fmt::format("put -- before the command: deadrank {}", fmt::join(right, " "))};
    }
    return std::nullopt;
}

// An empty word is a variable of the shell that is not set, as in `--seeds "$SEEDS"`: no usual value is
// meant.
std::optional<Error> check_values(const Words& words) {
    for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
        if (!words[i].starts_with("--")) continue;
        const std::size_t equals = words[i].find('=');
        const bool empty = equals == std::string::npos ? i + 1 < words.size() && words[i + 1].empty()
                                                       : equals + 1 == words[i].size();
        if (empty)
            return Error{ErrorCode::usage, fmt::format("{} has an empty value", words[i].substr(0, equals)),
                         "leave the option out, or give it a value"};
    }
    return std::nullopt;
}

// A verb stands behind its command and nowhere else.
struct MisplacedVerb {
    std::string_view command, verb;
};

void make_options_optional(CLI::App& command) {
    for (CLI::Option* option : command.get_options()) option->required(false);
}

void add_verbs(CLI::App& command, const Command& one, const CommandRow* chosen, Session& session) {
    for (const CommandRow* verb : one.verbs) {
        CLI::App& below = *command.add_subcommand(std::string(verb->name), std::string(verb->what));
        below.group("Verbs");
        verb->add(below, session);
        if (verb == chosen) continue;
        make_options_optional(below);
        below.callback([name = one.row->name, verb = verb->name] { throw MisplacedVerb{name, verb}; });
    }
    if (!chosen) return;
    command.callback(nullptr);  // what the command does without a verb
    make_options_optional(command);
}

void add_commands(CLI::App& app, const Chosen& chosen, Session& session) {
    app.require_subcommand(0, 1);
    for (const CommandGroup& group : command_groups()) {
        for (const Command& one : group.commands) {
            CLI::App& command = *app.add_subcommand(std::string(one.row->name), std::string(one.row->what));
            one.row->add(command, session);
            const bool is_chosen = chosen.command && chosen.command->row == one.row;
            add_verbs(command, one, is_chosen ? chosen.verb : nullptr, session);
        }
    }
}

int run_commands(int argc, const char* const* argv, const Extension& given) {
    Extension extension = given;
    if (!extension.python) extension.python = std::make_shared<sim::managed::WarmPython>();
    Session session{.executable = {}, .extension = extension};
    std::error_code trouble;
    session.executable = std::filesystem::read_symlink("/proc/self/exe", trouble);
    if (trouble) session.executable = std::filesystem::absolute(argv[0], trouble);
    if (argc < 2) {
        print_error("{}", program_help());
        return exit_usage;
    }
    Words words(argv + 1, argv + argc);
    replace_old_name(words);
    words = without_help(std::move(words));
    const Chosen chosen = chosen_by(words);
    if (!chosen.command && !words[0].starts_with('-')) {
        session.complain(no_such_command(words[0]));
        return session.code;
    }
    const std::string path = chosen.path();
    auto refused = check_dashes(path, words);
    if (!refused) refused = check_values(words);
    if (refused) {
        session.complain(*refused);
        return session.code;
    }
    CLI::App app(program_description, "deadrank");
    app.set_version_flag("--version", "deadrank " + this_build().version);
    app.get_formatter()->column_width(30);
    app.get_formatter()->label("SUBCOMMAND", "VERB");
    add_commands(app, chosen, session);
    app.formatter_fn([](const CLI::App*, std::string, CLI::AppFormatMode) { return program_help(); });
    try {
        words = with_program(path, std::move(words));
        std::reverse(words.begin(), words.end());  // this parse() takes them in reverse
        app.parse(std::move(words));
    } catch (const CLI::Success& asked) {  // --help, --version
        std::ostringstream text;
        const int code = app.exit(asked, text, text);
        print_out("{}", text.str());
        return code;
    } catch (const CLI::ParseError& error) {
        session.complain(usage_error(app, path, error));
    } catch (const MisplacedVerb& one) {
        session.complain({ErrorCode::usage, fmt::format("'{}' is a verb of {}", one.verb, one.command),
                          fmt::format("write it first: deadrank {} {} …", one.command, one.verb)});
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
    const int code = run_commands(argc, argv, extension);
    return check_output(code == commands::exit_interrupted ? commands::code_of_stop() : code, extension);
}

// ── The commands with their verbs, in the groups and the order of `deadrank --help`.

namespace commands {
extern const CommandRow alerts_row, campaign_row, completion_row, conformance_row, coverage_row,
    determinism_row, diagnose_row, doctor_row, emit_row, explain_row, help_row, import_row, inject_row,
    judge_row, learn_row, list_row, manual_row, mcp_row, new_row, parity_row, plan_row, probe_row, promises_row,
    ras_row, releases_row, replay_row, report_row, resilience_row, run_row, schema_row, score_row, serve_row,
    shrink_row, storm_row, swarm_row, sweep_row, taxonomy_row, test_row, trace_row, undo_row, version_row,
    watch_row, web_row;
}  // namespace commands

const std::vector<CommandGroup>& command_groups() {
    // clang-format off
    static const std::vector<CommandGroup> groups = {
        {"For all", {
            {&run_row},
            {&replay_row, {&plan_row, &determinism_row, &trace_row}},
            {&judge_row},
            {&report_row, {&resilience_row, &parity_row, &promises_row, &releases_row}},
            {&mcp_row},
        }},
        {"For framework developers", {
            {&inject_row},
            {&sweep_row, {&swarm_row, &shrink_row, &probe_row, &campaign_row}},
            {&test_row},
            {&watch_row},
        }},
        {"For operators", {
            {&diagnose_row, {&import_row}},
            {&alerts_row, {&serve_row, &storm_row}},
            {&score_row, {&conformance_row, &emit_row, &ras_row}},
            {&doctor_row},
            {&undo_row},
        }},
        {"For teachers, and authors of scenarios", {
            {&learn_row},
            {&web_row},
            {&list_row, {&taxonomy_row, &coverage_row}},
            {&explain_row},
            {&new_row, {&schema_row}},
            {&help_row, {&manual_row, &completion_row, &version_row}},
        }},
    };
    // clang-format on
    return groups;
}

std::vector<Command> all_commands() {
    std::vector<Command> all;
    for (const CommandGroup& group : command_groups())
        all.insert(all.end(), group.commands.begin(), group.commands.end());
    return all;
}

}  // namespace deadrank::runners
