// runners/commands/know/manual_commands.cpp — What `--help` says about each command, read from the parser, as
// Markdown and as a man page.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

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

std::string markdown_of(const CLI::App& command) {
    std::string text =
        fmt::format("## deadrank {}\n\n{}.\n\n", command.get_name(), command.get_description());
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
    std::string text =
        fmt::format(".SS {}\n{}.\n", roff(command.get_name()), roff(command.get_description()));
    for (const CLI::Option* option : command.get_options()) {
        text += fmt::format(".TP\n.B {}\n{}\n", roff(option_words(*option)), roff(option->get_description()));
    }
    if (const std::string footer = command.get_footer(); !footer.empty()) {
        text += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(footer));
    }
    return text;
}

}  // namespace

std::string manual_of_commands(const CLI::App& program) {
    std::string text = "# Commands\n\n";
    for (const CLI::App* command : commands_of(program)) {
        text +=
            fmt::format("- [`{0}`](#deadrank-{0}): {1}\n", command->get_name(), command->get_description());
    }
    text += "\n";
    for (const CLI::App* command : commands_of(program)) text += markdown_of(*command);
    return text;
}

std::string man_page(const CLI::App& program, const std::string& version) {
    std::string text = fmt::format(".TH DEADRANK 1 \"\" \"deadrank {}\" \"deadrank\"\n", version);
    text +=
        ".SH NAME\ndeadrank \\- breaks distributed training on purpose and tells whether anybody noticed\n";
    text += ".SH SYNOPSIS\n.B deadrank\n.I COMMAND\n[\\fIoptions\\fR]\n";
    text += fmt::format(".SH DESCRIPTION\n{}\n.SH COMMANDS\n", roff(program.get_description()));
    for (const CLI::App* command : commands_of(program)) text += roff_of(*command);
    return text + ".SH EXIT STATUS\n0 pass, 1 fail, 2 unknown, 64 usage, 130 interrupted.\n";
}

}  // namespace deadrank::runners::commands
