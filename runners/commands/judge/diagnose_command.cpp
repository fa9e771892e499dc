// runners/commands/judge/diagnose_command.cpp — deadrank diagnose: likely causes and fix patterns for
// evidence, with reasons; or how often that is right over the catalog. Evidence alone is read: a plan or a
// truth that lies beside it is left unopened.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>

#include "runners/backends/catalog/backend.h"
#include "runners/commands/judge/diagnose_report.h"
#include "runners/console/command.h"
#include "runners/console/screen.h"
#include "runners/console/selection.h"

namespace deadrank::runners::commands {

namespace {

namespace fs = std::filesystem;
using scenarios::ClueTable;

struct DiagnoseArguments {
    SelectionOptions selection;
    SeedOptions seeds;
    bool accuracy = false, json = false;
    int jobs = 0;
};

// Healthy is 0, a bug is 1: as grep, it says whether it found something.
void diagnose_places(const DiagnoseArguments& arguments, const Library& library, const ClueTable& clues,
                     Session& session) {
    for (const std::string& place : arguments.selection.names) {
        std::error_code ignored;
        auto evidence = results::read_evidence(
            fs::is_directory(place, ignored) ? fs::path(place) / "evidence.jsonl" : fs::path(place));
        if (!session.take(evidence)) return;
        const auto findings = results::detect(*evidence, library.detectors());
        const auto diagnosis = results::diagnosis::diagnose(*evidence, findings, library.taxonomy, clues);
        if (arguments.json)
            fmt::print("{}\n", diagnosis_json(diagnosis, place));
        else
            fmt::print("{}", diagnosis_text(diagnosis, place, library.taxonomy, style_of(stdout)));
        if (!diagnosis.healthy()) session.code = exit_fail;
    }
}

void measure(const DiagnoseArguments& arguments, const Library& library, const ClueTable& clues,
             Session& session) {
    auto seeds = seeds_of(arguments.seeds);
    if (!session.take(seeds)) return;
    auto selection = select(library, arguments.selection);
    if (!session.take(selection)) return;
    for (const scenarios::Error& error : selection->broken) session.complain(error);
    Progress progress;
    std::atomic<bool>& stop = stop_on_interrupt();
    DiagnosisOptions options;
    options.threads = arguments.jobs > 0 ? arguments.jobs : usual_jobs("sim");
    options.stop = &stop;
    options.progress = [&](std::size_t done, std::size_t all) {
        progress.show(fmt::format("{} of {}", done, all));
    };
    const DiagnosisScore score = score_diagnosis(
        selection->scenarios, *seeds, [&] { return std::move(*make_runner("sim", session.extension)); },
        library.vocabulary, library.taxonomy, clues, options);
    progress.clear();
    fmt::print("{}{}",
               arguments.json ? score_json(score) : score_text(score, seeds->size(), style_of(stdout)),
               arguments.json ? "\n" : "");
    if (score.controls_healthy < score.controls) session.code = exit_fail;
    if (stop.load()) session.code = exit_interrupted;
}

void diagnose(const DiagnoseArguments& arguments, Session& session) {
    if (!arguments.accuracy && arguments.selection.names.empty()) {
        session.complain({scenarios::ErrorCode::usage, "there is nothing to diagnose",
                          "name a run's directory or an evidence file, or ask for --accuracy"});
        return;
    }
    auto library = open_library(session.executable, session.extension, arguments.selection.catalog);
    if (!session.take(library)) return;
    auto clues = ClueTable::load(library->data / "clues.toml", library->taxonomy);
    if (!session.take(clues)) return;
    if (arguments.accuracy)
        measure(arguments, *library, *clues, session);
    else
        diagnose_places(arguments, *library, *clues, session);
}

void add_diagnose(CLI::App& command, Session& session) {
    command.footer(
        "Causes are ranked by points: public reports of symptom and cause together, the detector's own "
        "opinion, and "
        "clues of the evidence (scenarios/clues.toml). Plan and truth of a run are not opened.\n\n"
        "With --accuracy the arguments choose scenarios instead of places: each is played with its fault and "
        "without, "
        "and what the diagnosis names is held against the scenario's label.\n\n"
        "Exit code: 0 healthy, 1 a bug was found (with --accuracy: a control was not called healthy), 64 the "
        "command "
        "line or a file is wrong, 130 stopped.\n\n"
        "Examples:\n"
        "  deadrank diagnose out/communication/rank_leaves_all_reduce/1\n"
        "  deadrank diagnose production.jsonl --json\n"
        "  deadrank diagnose --accuracy --seeds 1..20");
    auto arguments = std::make_shared<DiagnoseArguments>();
    add_selection(command, arguments->selection);
    add_seeds(command, arguments->seeds);
    command.add_flag("--accuracy", arguments->accuracy, "Measure over the catalog how often it is right");
    command.add_option("-j,--jobs", arguments->jobs, "Trials at once [the processors]")
        ->type_name("N")
        ->check(CLI::Range(1, 1024).description(""));
    add_json(command, arguments->json, "One JSON object a line and place; with --accuracy one object");
    command.callback([arguments, &session] { diagnose(*arguments, session); });
}

}  // namespace

extern const CommandRow diagnose_row{
    "diagnose", "Says from evidence alone what the cause probably was, and which fix helps", add_diagnose};

}  // namespace deadrank::runners::commands
