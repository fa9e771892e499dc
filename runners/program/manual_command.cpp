// runners/program/manual_command.cpp — Where the pages go; what is in them is written in manual_commands.cpp
// and manual_scenarios.cpp.
#include "runners/program/manual.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fstream>
#include <memory>

#include "runners/console/command.h"
#include "runners/line/build.h"
#include "runners/line/library.h"

namespace deadrank::runners::commands {

namespace {

struct ManualArguments {
    bool man = false;
    std::string out;
};

constexpr const char* manual_footer =
    "Examples:\n"
    "  deadrank manual > MANUAL.md               commands, then every word of a scenario file\n"
    "  deadrank manual --man | man -l -          the commands as a manual page";

scenarios::Result<void> put(const std::string& text, const std::string& file) {
    if (file.empty()) {
        fmt::print("{}", text);
        return {};
    }
    std::ofstream out(file, std::ios::binary);
    out << text;
    out.close();
    if (!out) {
        return scenarios::refuse(scenarios::ErrorCode::io, "cannot be written",
                                 "name a file in a directory that exists and that you may write", {file});
    }
    return {};
}

void manual(const ManualArguments& arguments, const CLI::App& program, Session& session) {
    std::string text;
    if (arguments.man) {
        text = man_page(program, this_build().version);
    } else {
        auto library = open_library(session.executable, session.extension, "");
        if (!session.take(library)) return;
        text = fmt::format("# deadrank {}\n\nWritten by `deadrank manual`.\n\n", this_build().version) +
               manual_of_commands(program) + manual_of_scenarios(*library);
    }
    if (const auto written = put(text, arguments.out); !written) session.complain(written.error());
}

void add_manual(CLI::App& command, Session& session) {
    command.footer(manual_footer);
    auto arguments = std::make_shared<ManualArguments>();
    command.add_flag("--man", arguments->man, "The commands as a page for man");
    command.add_option("-o,--out", arguments->out, "Write it there [standard output]")->type_name("FILE");
    command.callback(
        [arguments, program = command.get_parent(), &session] { manual(*arguments, *program, session); });
}

}  // namespace

extern const CommandRow manual_row{"manual", "Prints the manual of this build, as Markdown or for man",
                                   add_manual};

}  // namespace deadrank::runners::commands
