// runners/commands/judge.cpp — The line, entered at the evidence: nothing is played.
#include "runners/commands/judge.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>

#include "results/reports/terminal.h"
#include "results/reports/verdict_json.h"
#include "runners/commands/judging.h"
#include "runners/commands/options.h"
#include "runners/commands/screen.h"

namespace deadrank::runners::commands {

namespace {

struct Arguments {
    std::vector<std::string> places;
    std::string catalog;
    bool json = false;
};

int code_of(results::Verdict verdict) {
    if (verdict == results::Verdict::fail) return exit_fail;
    return verdict == results::Verdict::pass ? exit_pass : exit_unknown;
}

void judge(const Arguments& arguments, Session& session) {
    auto library = open_library(session, arguments.catalog);
    if (!session.take(library)) return;
    results::Verdict worst = results::Verdict::pass;
    for (const std::string& place : arguments.places) {
        auto one = judge_directory(*library, place);
        if (!session.take(one)) return;
        if (arguments.json) fmt::print("{}\n", results::reports::json_line(*one));
        if (!arguments.json) fmt::print("{}", results::reports::failure_block(*one, style_of(stdout)));
        worst = results::worse(worst, one->verdict);
    }
    session.code = code_of(worst);
}

}  // namespace

void add_judge(CLI::App& app, Session& session) {
    CLI::App* command =
        app.add_subcommand("judge", "Detects and judges again from files, without playing anything");
    command->footer(
        "A run's directory (from run --out) has plan, evidence and truth, and gets a verdict. An evidence "
        "file "
        "alone, say of a production job, gets findings and the verdict unknown (exit code 2).");
    auto arguments = std::make_shared<Arguments>();
    command->add_option("places", arguments->places, "Directories of runs, or evidence files")
        ->required()
        ->type_name("PLACE");
    add_catalog(*command, arguments->catalog);
    add_json(*command, arguments->json, "One JSON object a line, as run --json");
    command->callback([arguments, &session] { judge(*arguments, session); });
}

}  // namespace deadrank::runners::commands
