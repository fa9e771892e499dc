// runners/commands/know/manual_command.cpp — Writes the manual's pages; their content comes from
// manual_commands.cpp and runners/manual.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <fmt/format.h>
#include <memory>

#include "results/record/text_file.h"
#include "runners/commands/command.h"
#include "runners/commands/know/manual.h"
#include "runners/commands/screen.h"
#include "runners/manual/manual_pages.h"
#include "runners/pipeline/build.h"
#include "runners/pipeline/library.h"

namespace deadrank::runners::commands {

namespace {

struct ManualArguments {
    bool man = false;
    std::string out, pages;
};

constexpr const char* manual_footer =
    "Examples:\n"
    "  deadrank help manual > MANUAL.md               commands, then every word of a scenario file\n"
    "  deadrank help manual --pages docs              the same as pages, with an index\n"
    "  deadrank help manual --man | man -l -          the commands as a manual page";

scenarios::Result<void> put(const std::string& text, const std::string& file) {
    if (file.empty()) {
        print_out("{}", text);
        return {};
    }
    return results::write_text(text, file);
}

scenarios::Result<void> put_pages(const std::vector<manual::Page>& pages,
                                  const std::filesystem::path& place) {
    for (const manual::Page& page : pages) {
        std::error_code ignored;
        std::filesystem::create_directories((place / page.path).parent_path(), ignored);
        if (auto written = put(page.text, (place / page.path).string()); !written) return written;
    }
    return {};
}

std::string all_of(const std::vector<manual::Page>& pages) {
    std::string text = fmt::format("deadrank {}\n\n", this_build().version);
    for (std::size_t i = 1; i < pages.size(); ++i)
        text += pages[i].text;  // an index of files is of no use here
    return text;
}

void write_manual(const ManualArguments& arguments, const CLI::App& program, Session& session) {
    if (arguments.man) {
        if (const auto written = put(man_page(program, this_build().version), arguments.out); !written)
            session.complain(written.error());
        return;
    }
    auto library = open_library(session.executable, session.extension, "");
    if (!session.take(library)) return;
    const auto pages = manual::pages_of(
        *library, {{"commands.md", "Commands and their options", manual_of_commands(program)}});
    const auto written =
        arguments.pages.empty() ? put(all_of(pages), arguments.out) : put_pages(pages, arguments.pages);
    if (!written) session.complain(written.error());
}

void add_manual(CLI::App& command, Session& session) {
    command.footer(manual_footer);
    auto arguments = std::make_shared<ManualArguments>();
    command.add_flag("--man", arguments->man, "The commands as a page for man");
    command.add_option("-o,--out", arguments->out, "Write it there [standard output]")->type_name("FILE");
    command.add_option("--pages", arguments->pages, "Write pages with an index below it")
        ->type_name("DIR")
        ->excludes("--man")
        ->excludes("--out");
    command.callback([arguments, program = command.get_parent()->get_parent(), &session] {
        write_manual(*arguments, *program, session);
    });
}

}  // namespace

extern const CommandRow manual_row{"manual", "Prints the manual of this build, as Markdown or for man",
                                   add_manual};

}  // namespace deadrank::runners::commands
