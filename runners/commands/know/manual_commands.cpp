// runners/commands/know/manual_commands.cpp — What `--help` says about each command, read from the parser, as
// Markdown and as a man page.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runners/commands/know/manual.h"
#include "runners/manual/markdown.h"

namespace deadrank::runners::commands {

namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& program) {
    return program.get_subcommands([](const CLI::App*) { return true; });
}

// "-o,--out DIR", or the bare name of a positional.
std::string option_words(const CLI::Option& option) {
    std::string words = option.get_positional() ? option.get_name(true) : option.get_name(false, true);
    if (const std::string type = option.get_type_name(); !type.empty()) words += " " + type;
    return words;
}

// "sweep swarm"
std::string path_of(const CLI::App& command) {
    const CLI::App* above = command.get_parent();
    return above && above->get_parent() ? path_of(*above) + " " + command.get_name() : command.get_name();
}

std::string anchor_of(const CLI::App& command) {
    std::string anchor = "deadrank-" + path_of(command);
    std::replace(anchor.begin(), anchor.end(), ' ', '-');
    return anchor;
}

// Bullets: each command, and below it its verbs.
std::string index_of(const CLI::App& app, const std::string& indent) {
    std::string text;
    for (const CLI::App* command : commands_of(app)) {
        text += fmt::format("{}- [`{}`](#{}): {}\n", indent, path_of(*command), anchor_of(*command),
                            command->get_description());
        text += index_of(*command, indent + "  ");
    }
    return text;
}

std::string markdown_of(const CLI::App& command) {
    std::string text = fmt::format("## deadrank {}\n\n{}.\n\n", path_of(command), command.get_description());
    std::vector<std::string> verbs;
    for (const CLI::App* verb : commands_of(command))
        verbs.push_back(fmt::format("[`{}`](#{})", verb->get_name(), anchor_of(*verb)));
    if (!verbs.empty()) text += fmt::format("Verbs: {}.\n\n", fmt::join(verbs, ", "));
    text += "| option | meaning |\n|---|---|\n";
    for (const CLI::Option* option : command.get_options()) {
        text +=
            fmt::format("| `{}` | {} |\n", option_words(*option), manual::cell(option->get_description()));
    }
    if (const std::string footer = command.get_footer(); !footer.empty()) {
        text += fmt::format("\n```text\n{}\n```\n", footer);
    }
    for (const CLI::App* below : commands_of(command)) text += "\n" + markdown_of(*below);
    return text + "\n";
}

// Escapes for troff: backslashes, leading dots, and hyphens, which would not survive copying.
std::string roff(std::string_view text) {
    std::string safe;
    bool begins = true;
    for (const char c : text) {
        if (begins && (c == '.' || c == '\'')) safe += "\\&";
        if (c == '\\') {
            safe += "\\e";
        } else if (c == '-') {
            safe += "\\-";
        } else {
            safe += c;
        }
        begins = c == '\n';
    }
    return safe;
}

std::string roff_of(const CLI::App& command) {
    std::string text = fmt::format(".SS {}\n{}.\n", roff(path_of(command)), roff(command.get_description()));
    for (const CLI::Option* option : command.get_options()) {
        text += fmt::format(".TP\n.B {}\n{}\n", roff(option_words(*option)), roff(option->get_description()));
    }
    if (const std::string footer = command.get_footer(); !footer.empty()) {
        text += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(footer));
    }
    for (const CLI::App* verb : commands_of(command)) text += roff_of(*verb);
    return text;
}

}  // namespace

std::string manual_of_commands(const CLI::App& program) {
    std::string text = "# Commands\n\n";
    text += index_of(program, "") + "\n";
    for (const CLI::App* command : commands_of(program)) text += markdown_of(*command);
    return text;
}

std::string man_page(const CLI::App& program, const std::string& version) {
    std::string text = fmt::format(".TH DEADRANK 1 \"\" \"deadrank {}\" \"deadrank\"\n", version);
    text +=
        ".SH NAME\ndeadrank \\- injects faults into distributed training and judges whether anybody noticed\n";
    text += ".SH SYNOPSIS\n.B deadrank\n.I COMMAND\n[\\fIverb\\fR] [\\fIoptions\\fR]\n";
    text += fmt::format(".SH DESCRIPTION\n{}\n.SH COMMANDS\n", roff(program.get_description()));
    for (const CLI::App* command : commands_of(program)) text += roff_of(*command);
    return text + ".SH EXIT STATUS\n0 pass, 1 fail, 2 unknown, 64 usage, 130 interrupted.\n";
}

}  // namespace deadrank::runners::commands
