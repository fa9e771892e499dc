// runners/commands/judge/diagnose_command.cpp — deadrank diagnose: likely causes and fix patterns for
// evidence, with reasons; or how often that is right over the catalog. Takes evidence, or an incident's raw
// logs and dumps. A plan or truth beside the evidence is not opened.
#include <CLI/CLI.hpp>
#include <chrono>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <memory>

#include "results/importers/import.h"
#include "runners/backends/catalog/backend.h"
#include "runners/commands/command.h"
#include "runners/commands/judge/diagnose_report.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/pipeline/run_files.h"

namespace deadrank::runners::commands {

namespace {

namespace fs = std::filesystem;
using scenarios::ClueTable;

struct DiagnoseArguments {
    SelectionOptions selection;
    SeedOptions seeds;
    bool accuracy = false, json = false, more = false, together = false;
    int jobs = 0;
    std::int64_t limit = results::importers::read_for_usual.count();
};

bool is_evidence(const fs::path& place) {
    std::error_code ignored;
    if (fs::is_directory(place, ignored)) return fs::exists(place / "evidence.jsonl", ignored);
    if (!fs::is_regular_file(place, ignored))
        return place != "-";  // read_evidence reports what is wrong with it
    std::ifstream in(place, std::ios::binary);
    std::string head(32, '\0');
    in.read(head.data(), static_cast<std::streamsize>(head.size()));
    return head.starts_with(R"({"deadrank":"evidence")");
}

// A run's evidence, or the evidence that import makes of logs and dumps.
scenarios::Result<results::Evidence> evidence_of(const std::vector<fs::path>& places,
                                                 std::chrono::seconds read_for) {
    if (places.size() == 1 && is_evidence(places[0])) {
        std::error_code ignored;
        return results::read_evidence(fs::is_directory(places[0], ignored) ? places[0] / "evidence.jsonl"
                                                                           : places[0]);
    }
    Progress progress;
    results::importers::ImportOptions options{.read_for = read_for};
    options.progress = [&](const fs::path& file, std::int64_t bytes) {
        progress.show(fmt::format("{}: {} MB read", file.filename().string(), bytes >> 20));
    };
    auto imported = results::importers::import_paths(places, options);
    progress.clear();
    if (!imported) return tl::unexpected(imported.error());
    return std::move(imported->evidence);
}

// A scenario to play: one with this symptom and the likeliest cause, else with the symptom alone.
std::string similar_to(const results::diagnosis::Diagnosis& diagnosis, const Library& library) {
    if (!diagnosis.finding) return {};
    const auto ids = scenario_ids(library);
    if (!ids) return {};
    std::string alike;
    for (const std::string& id : *ids) {
        const auto scenario = load_scenario(library, library.catalog / (id + ".toml"));
        if (!scenario || !scenario->expect.is_answered_by(diagnosis.finding->symptom)) continue;
        if (!diagnosis.causes.empty() && scenario->bug.cause == diagnosis.causes.front().cause) return id;
        if (alike.empty()) alike = id;
    }
    return alike;
}

void diagnose_one(const std::vector<fs::path>& places, const std::string& name,
                  const DiagnoseArguments& arguments, const Library& library, const ClueTable& clues,
                  Session& session) {
    auto evidence = evidence_of(places, std::chrono::seconds(arguments.limit));
    if (!session.take(evidence)) return;
    for (const std::string& gap : gaps_of(*evidence)) print_error("deadrank: {}: {}\n", name, gap);
    const auto findings = results::detect(*evidence, library.detectors());
    const auto diagnosis = results::diagnosis::diagnose(*evidence, findings, library.taxonomy, clues);
    const std::string similar = similar_to(diagnosis, library);
    if (arguments.json)
        print_out("{}\n", diagnosis_json(diagnosis, name, similar));
    else
        print_out("{}", results::diagnosis::answer_text(diagnosis, name, library.taxonomy,
                                                        {arguments.more, similar}, style_of(stdout)));
    using results::diagnosis::IncidentOutcome;
    if (diagnosis.incident.outcome == IncidentOutcome::found)
        session.code = exit_fail;
    else if (!diagnosis.healthy() && session.code == exit_pass)
        session.code = exit_unknown;
}

// Exit code 0 when healthy, 1 for a bug, 2 when it cannot be told.
void diagnose_places(const DiagnoseArguments& arguments, const Library& library, const ClueTable& clues,
                     Session& session) {
    const std::vector<std::string>& names = arguments.selection.names;
    if (arguments.together) {
        const std::vector<fs::path> all(names.begin(), names.end());
        return diagnose_one(all, fmt::format("{}", fmt::join(names, " ")), arguments, library, clues,
                            session);
    }
    for (const std::string& place : names) diagnose_one({place}, place, arguments, library, clues, session);
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
    print_out("{}{}", arguments.json ? score_json(score) : score_text(score, seeds->size(), style_of(stdout)),
              arguments.json ? "\n" : "");
    if (score.controls_healthy < score.controls) session.code = exit_fail;
    if (stop.load()) session.code = exit_interrupted;
}

void diagnose(const DiagnoseArguments& arguments, Session& session) {
    if (!arguments.accuracy && arguments.selection.names.empty()) {
        session.complain({scenarios::ErrorCode::usage, "there is nothing to diagnose",
                          "name a run's directory, an evidence file, or logs; or ask for --accuracy"});
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
        "The answer has at most twelve lines: what happened, who began it, why with three lines of the log, "
        "what "
        "to look at next. --more shows the rest.\n\n"
        "Logs and dumps are read as they are: files, directories, - for standard input; packed or not, of "
        "any "
        "launcher. Each path is a separate incident; with --together they are one.\n\n"
        "Bounds of an incident: --limit of time to read it; 100,000 files; 1 GiB of one dump; a packed file "
        "is "
        "read up to 1 GiB, or 1,000 times its size; a rank keeps 4,064 lines; 262,144 ranks, or four for "
        "each "
        "line that is kept. What lies beyond is left out, with a note. Evidence with too few events for its "
        "ranks is refused.\n\n"
        "With --accuracy the arguments choose scenarios instead of places: each is played with its fault and "
        "without, "
        "and the diagnosis is compared with the scenario's label.\n\n"
        "Exit code: 0 healthy, or a log proves that the job came to its end; 1 a bug was found (with "
        "--accuracy: a control was not called healthy); 2 unknown: it failed and no line says why, somebody "
        "stopped it, or nothing was understood; 64 the command line or a file is wrong, 130 stopped.\n\n"
        "Examples:\n"
        "  deadrank diagnose out/communication/rank_leaves_all_reduce/1\n"
        "  deadrank diagnose production.jsonl --json\n"
        "  deadrank diagnose slurm-4711.out\n"
        "  deadrank diagnose --together node0.log.gz node1.log.gz dmesg.txt\n"
        "  kubectl logs trainer-0 | deadrank diagnose -\n"
        "  deadrank diagnose --accuracy --seeds 1..20");
    auto arguments = std::make_shared<DiagnoseArguments>();
    add_selection(command, arguments->selection);
    add_seeds(command, arguments->seeds);
    command.add_flag("--accuracy", arguments->accuracy, "Measure over the catalog how often it is right");
    command.add_option("-j,--jobs", arguments->jobs, "Trials at once [the processors]")
        ->type_name("N")
        ->check(CLI::Range(1, 1024).description(""));
    add_read_limit(command, arguments->limit);
    command.add_flag("--more", arguments->more, "All lines uncut, causes with their reasons, and fixes");
    command.add_flag("--together", arguments->together, "All places are one incident");
    add_json(command, arguments->json, "One JSON object a line and place; with --accuracy one object");
    command.callback([arguments, &session] { diagnose(*arguments, session); });
}

}  // namespace

extern const CommandRow diagnose_row{
    "diagnose", "Names the probable cause, from logs and dumps alone", add_diagnose};

}  // namespace deadrank::runners::commands
