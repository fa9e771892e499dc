// runners/commands/judge/promises_command.cpp — deadrank report promises: do frameworks keep their promises
// to survive faults?
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <memory>

#include "results/record/text_file.h"
#include "runners/commands/command.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/promises/promise_overlay.h"
#include "runners/promises/promise_suite.h"

namespace deadrank::runners::commands {

namespace {

using promises::Kept;
using promises::PromiseBook;
using promises::PromiseCell;
using promises::PromiseTable;

struct PromisesArguments {
    promises::SuiteOptions suite;
    std::string table, html, out, release, packages, about;
    std::vector<std::string> from;
    bool list = false, json = false;
};

void list_promises(const PromiseBook& book, const PromisesArguments& arguments) {
    for (const auto& subject : book.subjects) {
        const auto& asked = arguments.suite.subjects;
        if (!asked.empty() && std::find(asked.begin(), asked.end(), subject.name) == asked.end()) continue;
        const auto there = promises::overlay_of(subject);
        const std::string state = !subject.unplayed.empty() ? subject.unplayed
                                  : there                   ? "ready"
                                                            : there.error().what;
        if (!arguments.json) print_out("{} ({}): {}\n", subject.name, subject.framework, state);
        for (const auto& fault : book.faults) {
            const promises::Promise* promise = promises::promise_under(subject, fault.name);
            if (!promise) continue;
            PromiseCell cell{subject.name, fault.name, promise, {}, ""};
            cell.again =
                fmt::format("deadrank report promises --subject {} --fault {}", subject.name, fault.name);
            if (arguments.json)
                print_out("{}", promises::promise_line(cell));
            else
                print_out("  {:22} {}\n", fault.name, promise->text);
        }
    }
}

void show_cell(const PromiseCell& cell) {
    const promises::PromiseVerdict worst = cell.worst();
    print_out("{:13} {} / {}", cell.text(), cell.subject, cell.fault);
    for (const std::string& part : {worst.why, worst.told}) print_out("{}{}", part.empty() ? "" : ": ", part);
    print_out("\n");
    flush_out();
}

void write_promises(const std::string& file, const std::string& text, Session& session) {
    if (file.empty()) return;
    if (auto written = results::write_text(text, file); !written) session.complain(written.error());
}

int code_of_cells(const PromiseTable& table) {
    const auto count = [&](Kept kept) {
        return std::count_if(table.cells.begin(), table.cells.end(),
                             [&](const PromiseCell& cell) { return cell.worst().kept == kept; });
    };
    if (count(Kept::broken) + count(Kept::late) > 0) return exit_fail;
    return count(Kept::unknown) > 0 || count(Kept::kept) == 0 ? exit_unknown : exit_pass;
}

// Selects another release of the one requested subject, or a user's own build of it.
bool choose_release(PromiseBook& book, const PromisesArguments& arguments, Session& session) {
    if (arguments.release.empty() && arguments.packages.empty()) return true;
    const auto& asked = arguments.suite.subjects;
    const auto found = std::find_if(book.subjects.begin(), book.subjects.end(), [&](const auto& subject) {
        return asked.size() == 1 && subject.name == asked.front() && !subject.package.empty();
    });
    if (found == book.subjects.end()) {
        session.complain({scenarios::ErrorCode::usage,
                          "--release and --packages are for one subject with a package",
                          "name it: --subject nvrx_inprocess"});
        return false;
    }
    if (!arguments.release.empty()) {
        const bool whole = arguments.release.find("==") != std::string::npos;
        found->package = whole
                             ? arguments.release
                             : found->package.substr(0, found->package.find("==")) + "==" + arguments.release;
        found->again = " --release " + arguments.release;
    }
    if (!arguments.packages.empty()) {
        found->prepared = arguments.packages;
        found->again += " --packages " + arguments.packages;
    }
    return true;
}

scenarios::Result<PromiseTable> table_played(const PromiseBook& book, const PromisesArguments& arguments) {
    promises::SuiteOptions options = arguments.suite;
    options.out = arguments.out;
    options.stop = &stop_on_interrupt();
    Progress progress;
    auto table = promises::play_suite(
        book, options,
        [&](const PromiseCell& cell) {
            progress.clear();
            if (arguments.json)
                print_out("{}", promises::promise_line(cell));
            else
                show_cell(cell);
            flush_out();
        },
        [&](const std::string& what) { progress.show(what); });
    progress.clear();
    return table;
}

void play_promises(const PromisesArguments& arguments, Session& session) {
    auto book = promises::load_promises();
    if (!session.take(book) || !choose_release(*book, arguments, session)) return;
    if (arguments.list) return list_promises(*book, arguments);
    auto table = arguments.from.empty()
                     ? table_played(*book, arguments)
                     : promises::table_of_lines(*book, {arguments.from.begin(), arguments.from.end()});
    if (!session.take(table)) return;
    table->about = arguments.about;
    for (const std::string& note : table->notes) print_error("not played: {}\n", note);
    session.code = code_of_cells(*table);
    write_promises(arguments.table, promises::promise_markdown(*table), session);
    write_promises(arguments.html, promises::promise_page(*table), session);
    if (stop_on_interrupt()) session.code = exit_interrupted;
}

void add_promises(CLI::App& command, Session& session) {
    command.footer(
        "A healthy run of each subject is its control. A cell that is not kept at first is played three "
        "times, and the worst counts. Everything runs on loopback, bounded, and is ended with the run.\n\n"
        "Exit code: 0 all kept, 1 one is broken or kept late, 2 one is unknown, 64 the command line "
        "is "
        "wrong.\n\n"
        "Examples:\n"
        "  deadrank report promises --list                        who promises what, and what is ready here\n"
        "  deadrank report promises --subject torchft --prepare   fetch it, then play all that it promises\n"
        "  deadrank report promises --subject torchft --fault kill_in_collective --out runs\n"
        "                                                  one cell, with its logs\n"
        "  deadrank report promises --subject torchft --release 2026.9.1 --prepare\n"
        "                                                  an older one, or yours with --packages DIR\n"
        "  deadrank report promises --table PROMISES.md --html promises.html");
    auto arguments = std::make_shared<PromisesArguments>();
    auto& suite = arguments->suite;
    command.add_option("--subject", suite.subjects, "These frameworks alone")
        ->type_name("NAME")
        ->delimiter(',');
    command.add_option("--fault", suite.faults, "These faults alone")->type_name("NAME")->delimiter(',');
    command.add_option("--runs", suite.runs, "Runs of a cell whose first is not kept [3]")
        ->type_name("N")
        ->check(CLI::Range(1, 100).description(""));
    command.add_option("--healthy", suite.healthy, "Healthy runs under load [10]")
        ->type_name("N")
        ->check(CLI::Range(1, 1000).description(""));
    command.add_flag("--unpromised", suite.unpromised, "Also play what no framework promises");
    command.add_flag("--prepare", suite.prepare, "Fetch packages that are not there, with pip");
    command.add_flag("--list", arguments->list, "Play nothing: list the promises");
    command
        .add_option("--release", arguments->release,
                    "Another release of the one subject: a version, or NAME==VERSION")
        ->type_name("VERSION");
    command
        .add_option("--packages", arguments->packages,
                    "A directory of Python packages in place of the fetched ones: your own build")
        ->type_name("DIR")
        ->check(CLI::ExistingDirectory.description(""));
    command.add_option("--table", arguments->table, "Write the table as Markdown")->type_name("FILE");
    command.add_option("--html", arguments->html, "Write the table as a page: one file, no network needed")
        ->type_name("FILE");
    command.add_option("-o,--out", arguments->out, "Keep what workers and frameworks wrote below DIR")
        ->type_name("DIR");
    command
        .add_option("--from", arguments->from,
                    "Play nothing: the table of cells that were played before, from files of --json")
        ->type_name("FILE")
        ->delimiter(',');
    command
        .add_option("--about", arguments->about, "A sentence above the table: which commit, which machine")
        ->type_name("TEXT");
    add_json(command, arguments->json, "One JSON object a line and cell");
    command.callback([arguments, &session] { play_promises(*arguments, session); });
}

}  // namespace

extern const CommandRow promises_row{
    "promises", "Plays faults against frameworks that promise to survive them",
    add_promises};

}  // namespace deadrank::runners::commands
