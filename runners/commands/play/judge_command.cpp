// runners/commands/play/judge_command.cpp — deadrank judge: detects and judges again from the files of a run,
// or reads evidence from elsewhere. Nothing is played.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>

#include "results/record/words.h"
#include "results/reports/json_files.h"
#include "results/reports/terminal.h"
#include "runners/commands/command.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/commands/under_test.h"
#include "runners/pipeline/run_files.h"

namespace deadrank::runners::commands {

namespace {

struct JudgeArguments {
    std::vector<std::string> places;
    std::string catalog, html;
    bool json = false;
};

int judge_code(results::Verdict verdict) {
    if (verdict == results::Verdict::fail) return exit_fail;
    return verdict == results::Verdict::pass ? exit_pass : exit_unknown;
}

void judge_files(const JudgeArguments& arguments, Session& session) {
    auto library = open_library(session.executable, session.extension, arguments.catalog);
    if (!session.take(library)) return;
    results::Verdict worst = results::Verdict::pass;
    results::reports::Page page;
    std::vector<results::Case> cases;
    for (const std::string& place : arguments.places) {
        auto judged = judge_directory(*library, place);
        if (!session.take(judged)) return;
        const results::Case& one = judged->outcome;
        if (arguments.json) print_out("{}\n", results::reports::json_line(one));
        if (!arguments.json) print_out("{}", results::reports::failure_block(one, style_of(stdout)));
        worst = results::worse(worst, one.verdict);
        if (!arguments.html.empty()) add_to_page(page, cases.size(), *judged);
        cases.push_back(one);
    }
    session.code = judge_code(worst);
    if (arguments.html.empty()) return;
    const auto written = page.write(arguments.html, results::score_by_class(cases, library->taxonomy),
                                    "class", results::counted(cases.size(), "run") + " judged from files");
    if (!written) session.complain(written.error());
}

void add_judge(CLI::App& command, Session& session) {
    command.footer(
        "A run's directory (from run --out) has plan, evidence and truth, and gets a verdict. An evidence "
        "file "
        "alone, say of a production job, gets findings and the verdict unknown (exit code 2).\n\n"
        "Examples:\n"
        "  deadrank judge out/communication/rank_leaves_all_reduce/1\n"
        "  deadrank judge out/*/*/1 --html report.html\n"
        "  deadrank judge incident/evidence.jsonl --json               after deadrank diagnose import");
    auto arguments = std::make_shared<JudgeArguments>();
    command.add_option("places", arguments->places, "Directories of runs, or evidence files")
        ->required()
        ->type_name("PLACE");
    add_catalog(command, arguments->catalog);
    add_json(command, arguments->json, "One JSON object a line, as run --json");
    command.add_option("--html", arguments->html, "Write a page that shows these runs, as run --html")
        ->type_name("FILE");
    command.callback([arguments, &session] { judge_files(*arguments, session); });
}

}  // namespace

extern const CommandRow judge_row{"judge", "Detects and judges again from files, without playing anything",
                                  add_judge};

}  // namespace deadrank::runners::commands
