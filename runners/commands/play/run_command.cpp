// runners/commands/play/run_command.cpp — deadrank run: the command most people need. Plays scenarios under
// seeds and reports for each whether the right thing was noticed.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <memory>

#include "results/record/words.h"
#include "results/reports/json_files.h"
#include "results/reports/resilience_table.h"
#include "runners/backends/catalog/backend.h"
#include "runners/backends/sim/managed_runner.h"
#include "runners/commands/command.h"
#include "runners/commands/gpu_options.h"
#include "runners/commands/otlp_output.h"
#include "runners/commands/play/run_report.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/commands/trust.h"
#include "runners/commands/under_test.h"
#include "runners/pipeline/campaign.h"
#include "runners/pipeline/library.h"
#include "runners/releases/collection.h"
#include "scenarios/model/python_program.h"

namespace deadrank::runners::commands {

namespace {

struct RunArguments {
    SelectionOptions selection;
    SeedOptions seeds;
    std::string runner = "sim";
    SubjectOptions under_test;
    int jobs = 0;
    std::int64_t memory = 0;
    std::string out, junit, html, table, otlp, by = "class";
    bool json = false, quiet = false, explore_order = false, no_control = false, no_heal = false;
    bool releases = false;
};

constexpr const char* run_description = "Plays scenarios and judges whether the right alarm rang in time";
constexpr const char* run_footer =
    "Each scenario is played three times from one set of draws: with its fault, without it (the control), "
    "and with its fix "
    "(the healed run). The alarm must ring in the first, about the right one and in time, and in no "
    "other.\n\n"
    "On a machine without a GPU, DEADRANK_STANDIN=1 lets --runner gpu play on our own NCCL and CUDA, and "
    "--gpus N shows a program of yours N simulated GPUs.\n\n"
    "A scenario or plan has at most 256 MiB, 100 parts in a key and 10,000,000 ranks. --memory bounds a run "
    "in the "
    "simulator, --real-limit the time of a program there. C++ workloads have no bound on time: Ctrl-C ends "
    "them.\n\n"
    "Exit code: 0 all as expected, 1 something failed, 2 something is unknown, 64 the command line or a file "
    "is wrong, "
    "130 stopped by Ctrl-C (the evidence so far is kept).\n\n"
    "Examples:\n"
    "  deadrank run                                             the whole catalog in the simulator\n"
    "  deadrank run communication --seeds 1..20 --jobs 2        one stage, twenty draws of each scenario\n"
    "  deadrank run my_bug.toml --runner local --out out        a file of yours on real processes\n"
    "  deadrank run my_bug.toml --runner local --ranks 2 --subject ddp --subject fsdp --table table.md\n"
    "                                                           how two frameworks stand the same bug\n"
    "  deadrank run my_bug.toml --runner local -- torchrun --nproc-per-node 2 train.py\n"
    "                                                           a program of yours, as you start it\n"
    "  deadrank run my_bug.toml --runner mpi --ranks 2 -- ./solver input.txt\n"
    "                                                           an MPI program of yours, under mpirun\n"
    "  deadrank run '*/checkpoint_*' --json                     one JSON object a line\n"
    "  deadrank run --releases                                  bugs of published releases, for real\n"
    "  deadrank run communication --html report.html            and a page to look at what happened";

std::vector<Job> jobs_of(const std::vector<scenarios::Scenario>& scenarios,
                         const std::vector<scenarios::Seed>& seeds) {
    std::vector<Job> jobs;
    for (const auto& scenario : scenarios) {
        for (const scenarios::Seed& seed : seeds) jobs.push_back({&scenario, seed});
    }
    return jobs;
}

std::size_t longest_name(const std::vector<scenarios::Scenario>& scenarios) {
    std::size_t longest = 12;
    for (const auto& scenario : scenarios) {
        longest = std::max(longest, scenario.id.size() - (scenario.id.find('/') + 1));
    }
    return std::min<std::size_t>(longest, 52);
}

int run_code(const RunReport& report, bool broken, bool stopped) {
    if (stopped) return exit_interrupted;
    if (report.worst() == results::Verdict::fail) return exit_fail;
    if (broken) return exit_usage;
    return report.worst() == results::Verdict::unknown ? exit_unknown : exit_pass;
}

class RunCommand {
public:
    RunCommand(const RunArguments& arguments, Session& session) : arguments_(arguments), session_(session) {}

    void operator()() {
        auto library = open_library(session_.executable, session_.extension, arguments_.selection.catalog);
        if (!session_.take(library)) return;
        if (arguments_.releases) library->catalog = library->data / "releases";
        auto seeds = seeds_of(arguments_.seeds);
        if (!session_.take(seeds)) return;
        auto programs = programs_under_test(arguments_.runner, session_.extension, arguments_.under_test);
        if (!session_.take(programs)) return;
        auto selection = select(*library, arguments_.selection);
        if (!session_.take(selection)) return;
        for (const scenarios::Error& error : selection->broken) session_.complain(error);
        keep_playable(*selection);
        const bool real = arguments_.runner != scenarios::BackendId::sim || programs->front().launch;
        if (real && !arguments_.under_test.trust) {
            if (auto trusted = check_trust(*library, selection->scenarios); !trusted)
                return session_.complain(trusted.error());
        }
        if (arguments_.releases && !prepare(*library, *selection)) return;
        auto traces = OtlpOutput::open(arguments_.otlp);
        if (!session_.take(traces)) return;
        traces_ = std::move(*traces);
        if (const auto& launch = programs->front().launch) {
            for (auto& scenario : selection->scenarios) scenario = launched_by(std::move(scenario), *launch);
        } else if (arguments_.under_test.ranks > 0) {
            for (auto& scenario : selection->scenarios)
                scenario = scaled(std::move(scenario), arguments_.under_test.ranks);
        }
        std::stable_partition(selection->scenarios.begin(), selection->scenarios.end(), [](const auto& one) {
            return one.workload_kind != scenarios::python_workload;  // what takes milliseconds comes first
        });
        if (!selection->scenarios.empty()) play(*library, *selection, *seeds, *programs);
    }

private:
    // A release that cannot be fetched does not stop the run: its bugs are played all the same, and each
    // reports what it lacks.
    bool prepare(const Library& library, const Selection& selection) {
        std::vector<std::string> names;
        for (const auto& scenario : selection.scenarios) names.push_back(scenario.id);
        const auto collection = releases::open_collection(library, names);
        if (!collection) return session_.complain(collection.error()), false;
        std::atomic<bool>& stop = stop_on_interrupt();
        const auto print_line = [](const std::string& line) { print_error("  {}\n", line); };
        const auto prepared = releases::prepare(collection->bugs, collection->pins, print_line, &stop);
        if (!prepared) session_.complain(prepared.error());
        if (stop.load()) session_.code = exit_interrupted;
        return !stop.load();
    }

    // A named scenario is always played, so that it reports itself why it cannot be.
    void keep_playable(Selection& selection) {
        if (!arguments_.selection.names.empty() || selection.scenarios.empty()) return;
        std::erase_if(selection.scenarios,
                      [&](const auto& one) { return !playable_on(one, arguments_.runner); });
        if (!selection.scenarios.empty()) return;
        session_.complain(
            {scenarios::ErrorCode::unsupported,
             fmt::format("no scenario that was chosen can be played on '{}'", arguments_.runner),
             "name one to see why, or choose another --runner"});
    }

    void play(const Library& library, const Selection& selection, const std::vector<scenarios::Seed>& seeds,
              const std::vector<UnderTest>& programs) {
        std::atomic<bool>& stop = stop_on_interrupt();
        const results::Detectors detectors = library.detectors();
        RunReport report({.json = arguments_.json,
                          .quiet = arguments_.quiet,
                          .seeds = seeds.size(),
                          .name_columns = longest_name(selection.scenarios),
                          .by = arguments_.by},
                         library.taxonomy, detectors);
        CampaignOptions options;
        options.line = {.out = arguments_.out,
                        .control = !arguments_.no_control,
                        .healed = !arguments_.no_heal,
                        .explore_order = arguments_.explore_order,
                        .memory = arguments_.memory,
                        .stop = &stop,
                        .detectors = &detectors};
        options.threads = arguments_.jobs > 0 ? arguments_.jobs : usual_jobs(arguments_.runner);
        options.progress = [&](std::size_t done, std::size_t all) { report.progress(done, all); };
        results::reports::Page page;
        const auto begin = std::chrono::steady_clock::now();
        const std::vector<Job> jobs = jobs_of(selection.scenarios, seeds);
        const std::size_t due = jobs.size() * programs.size();
        std::size_t played = 0;
        for (std::size_t which = 0; which < programs.size() && !stop.load(); ++which) {
            const UnderTest& program = programs[which];
            std::vector<results::ResilienceCell> standings(jobs.size());  // each written by one thread, once
            options.seen = [&](std::size_t index, const Trialled& trial) {
                if (traces_) traces_->take(which * jobs.size() + index, trial);
                if (!arguments_.html.empty())
                    add_to_page(page, which * jobs.size() + index, *jobs[index].scenario, trial,
                                program.words);
                if (arguments_.runner == scenarios::BackendId::local)
                    standings[index] = standing_of(trial, program.words);
                if (!arguments_.html.empty()) page.stand(which * jobs.size() + index, standings[index]);
            };
            std::size_t taken = 0;
            played += play_all(jobs, program.make, library.vocabulary, options, [&](results::Case&& one) {
                report.take(of_program(std::move(one), program.words), std::move(standings[taken++]));
            });
        }
        report.finish(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        session_.code = run_code(report, !selection.broken.empty(), stop.load());
        if (played < due) {
            print_error("deadrank: stopped after {} of {}\n", played, results::counted(due, "trial"));
        }
        write_files(report, library.taxonomy, detectors);
        if (!arguments_.html.empty()) write_page(page, report);
        if (!traces_) return;
        if (const auto written = traces_->finish(); !written) session_.complain(written.error());
    }

    void write_page(const results::reports::Page& page, const RunReport& report) {
        const auto written = page.write(
            arguments_.html, report.scorecard(), arguments_.by,
            fmt::format("{} on {}", results::counted(report.cases().size(), "trial"), arguments_.runner));
        if (!written) session_.complain(written.error());
    }

    void write_files(const RunReport& report, const scenarios::Taxonomy& taxonomy,
                     const results::Detectors& detectors) {
        const auto complain = [&](const scenarios::Result<void>& written) {
            if (!written) session_.complain(written.error());
        };
        if (!arguments_.junit.empty())
            complain(results::reports::write_junit(report.cases(), arguments_.junit));
        if (!arguments_.table.empty())
            complain(results::reports::write_resilience_table(report.standings(), arguments_.table));
        if (arguments_.out.empty()) return;
        const std::filesystem::path out = arguments_.out;
        for (const char* by : {"class", "symptom", "stage", "detector"}) {
            const auto card = scorecard_by(by, report.cases(), taxonomy, detectors);
            complain(results::reports::write_scorecard(card, out / fmt::format("scorecard_by_{}.json", by)));
        }
    }

    const RunArguments& arguments_;
    Session& session_;
    std::unique_ptr<OtlpOutput> traces_;  // null without --otlp
};

void add_under_test(CLI::App& command, SubjectOptions& under_test) {
    add_real_limit(command, under_test.real_limit);
    add_compute(command, under_test.compute);
    command
        .add_option("--subject", under_test.names,
                    "The program under test on real processes: a name of ours or a manifest FILE.toml; "
                    "repeat for several. Or type its command behind --")
        ->type_name("NAME|FILE")
        ->allow_extra_args(false);
    command.add_option("--command", under_test.command)->allow_extra_args(false)->group("");
    command
        .add_option("--ranks", under_test.ranks, "Play each scenario on N ranks instead of its own number")
        ->type_name("N")
        ->check(CLI::Range(1, 1024).description(""));
    add_gpus(command, under_test.gpus);
    command
        .add_option("--debug", under_test.debug,
                    "TORCH_DISTRIBUTED_DEBUG of the program under test: off, info, detail; repeat to compare")
        ->type_name("LEVEL")
        ->allow_extra_args(false)
        ->check(CLI::IsMember({"off", "info", "detail"}).description(""));
}

void add_run(CLI::App& command, Session& session) {
    command.footer(run_footer);
    auto arguments = std::make_shared<RunArguments>();
    add_selection(command, arguments->selection);
    add_seeds(command, arguments->seeds);
    command
        .add_option("--runner", arguments->runner,
                    "Where to play: sim (virtual time), local (real processes), mpi, gpu [sim]")
        ->type_name("NAME");
    command.add_flag_callback(
        "--releases",
        [arguments] {
            arguments->releases = true;
            arguments->runner = "local";
        },
        "Play bugs of published releases, in real processes: names and filters choose among those; what is "
        "missing is fetched first");
    add_under_test(command, arguments->under_test);
    add_trust(command, arguments->under_test.trust);
    command.add_option("-j,--jobs", arguments->jobs, "Trials at once [the processors; 1 on real processes]")
        ->type_name("N")
        ->check(CLI::Range(1, 1024).description(""));
    add_memory(command, arguments->memory);
    command
        .add_option("-o,--out", arguments->out,
                    "Keep plans, evidence, truth, findings and verdicts below DIR")
        ->type_name("DIR");
    command
        .add_option("--by", arguments->by, "Rows of the scorecard: class, symptom, stage, detector [class]")
        ->type_name("WHAT")
        ->check(CLI::IsMember({"class", "symptom", "stage", "detector"}).description(""));
    command.add_option("--junit", arguments->junit, "Write JUnit XML for CI")->type_name("FILE");
    command
        .add_option("--html", arguments->html,
                    "Write a page with scorecard, timelines, waits and logs: one file, no network needed")
        ->type_name("FILE");
    command
        .add_option("--table", arguments->table,
                    "Write how each framework stood each bug, as Markdown with a command behind each bad "
                    "cell")
        ->type_name("FILE");
    add_otlp(command, arguments->otlp);
    add_json(command, arguments->json,
             "One JSON object a line and trial, and nothing else, on standard output");
    command.add_flag("-q,--quiet", arguments->quiet, "Print failures and the last line only");
    command.add_flag("--explore-order", arguments->explore_order,
                     "Let chance decide ties in time (the token keeps it)");
    command.add_flag("--no-control", arguments->no_control, "Leave the control run out");
    command.add_flag("--no-heal", arguments->no_heal, "Leave the healed run out");
    command.callback([arguments, &session] { RunCommand(*arguments, session)(); });
}

}  // namespace

extern const CommandRow run_row{"run", run_description, add_run};

}  // namespace deadrank::runners::commands
