// runners/commands/judge/resilience_command.cpp — deadrank report resilience: tables of how frameworks
// reacted to bugs, from lines that `run --json` printed. Merges several files: of a bug and a program the
// last line of each run counts, so that a repeated run replaces the earlier one.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <memory>

#include "results/record/words.h"
#include "results/reports/page.h"
#include "results/reports/resilience_table.h"
#include "runners/commands/command.h"
#include "runners/commands/screen.h"

namespace deadrank::runners::commands {

namespace {

using results::ResilienceCell;

struct ResilienceArguments {
    std::vector<std::string> files;
    std::string table, summary, html;
    bool untold = false;
};

bool same_cell(const ResilienceCell& a, const ResilienceCell& b) {
    return a.scenario == b.scenario && a.subject.name == b.subject.name &&
           a.subject.version == b.subject.version && a.subject.debug == b.subject.debug && a.run == b.run;
}

// A cell without a grade does not replace an earlier one that has a grade.
void keep(std::vector<ResilienceCell>& standings, ResilienceCell&& one) {
    const auto found = std::find_if(standings.begin(), standings.end(),
                                    [&](const ResilienceCell& other) { return same_cell(one, other); });
    if (found == standings.end()) {
        standings.push_back(std::move(one));
    } else if (one.grade || !found->grade) {
        *found = std::move(one);
    }
}

scenarios::Result<void> write_resilience_page(const std::vector<ResilienceCell>& standings, std::size_t told,
                                              const std::string& file) {
    results::reports::Page page;
    for (std::size_t i = 0; i < standings.size(); ++i) page.stand(i, standings[i]);
    return page.write(file, {}, "", fmt::format("{} on real processes", results::counted(told, "run")));
}

void resilience(const ResilienceArguments& arguments, Session& session) {
    std::vector<ResilienceCell> standings;
    for (const std::string& file : arguments.files) {
        auto lines = results::reports::read_standings(file);
        if (!session.take(lines)) return;
        for (ResilienceCell& one : *lines) keep(standings, std::move(one));
    }
    const auto told = static_cast<std::size_t>(std::count_if(
        standings.begin(), standings.end(), [](const ResilienceCell& one) { return one.grade; }));
    if (told == 0) {
        session.complain({scenarios::ErrorCode::usage, "no line tells how a program stood a bug",
                          "play some with `deadrank run … --runner local --subject NAME --json`"});
        return;
    }
    const auto complain = [&](const scenarios::Result<void>& written) {
        if (!written) session.complain(written.error());
    };
    if (!arguments.table.empty())
        complain(results::reports::write_resilience_table(standings, arguments.table));
    if (!arguments.summary.empty())
        complain(results::reports::write_resilience_summary(standings, arguments.summary));
    if (!arguments.html.empty()) complain(write_resilience_page(standings, told, arguments.html));
    if (arguments.table.empty() && arguments.summary.empty() && arguments.html.empty())
        print_out("{}", results::reports::resilience_table(standings));
    for (const ResilienceCell& one : standings) {
        if (arguments.untold && !one.grade)
            print_error("not told: {}, {}: {}\n", one.scenario, one.subject.name, one.untold);
    }
    if (session.code == exit_pass && told < standings.size()) session.code = exit_unknown;
}

void add_resilience(CLI::App& command, Session& session) {
    command.footer(
        "Reads what `deadrank run --runner local --json` printed. The last line about a bug and a program "
        "counts; where lines have a number, \"run\": 2, the last of each run: a cell then shows how often "
        "which reaction was seen.\n\n"
        "Exit code: 0 all are known, 2 some are unknown, 64 the command line or a file is wrong.\n\n"
        "Examples:\n"
        "  deadrank run bugs --runner local --subject ddp --json > ddp.jsonl\n"
        "  deadrank run bugs --runner local --subject fsdp2 --json > fsdp2.jsonl\n"
        "  deadrank report resilience ddp.jsonl fsdp2.jsonl                     the table, to the terminal\n"
        "  deadrank report resilience *.jsonl --html resilience.html            a page to click through\n"
        "  deadrank report resilience *.jsonl --table TABLE.md --summary README.md\n"
        "                                                               each into its place on a page");
    auto arguments = std::make_shared<ResilienceArguments>();
    command.add_option("files", arguments->files, "Lines of JSON, as run printed them")
        ->required()
        ->type_name("FILE")
        ->check(CLI::ExistingFile.description(""));
    command.add_option("--table", arguments->table, "Write the table as Markdown: a row a bug")
        ->type_name("FILE");
    command
        .add_option("--summary", arguments->summary,
                    "Write how many bugs each framework stood in which way: a row a framework")
        ->type_name("FILE");
    command.add_option("--html", arguments->html, "Write the table as a page: one file, no network needed")
        ->type_name("FILE");
    command.add_flag("--untold", arguments->untold, "Print the unknown ones, with their reasons, on standard error");
    command.callback([arguments, &session] { resilience(*arguments, session); });
}

}  // namespace

extern const CommandRow resilience_row{
    "resilience", "Makes one table of how frameworks reacted to bugs, from several runs on real processes",
    add_resilience};

}  // namespace deadrank::runners::commands
