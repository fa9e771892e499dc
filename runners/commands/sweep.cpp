// runners/commands/sweep.cpp — deadrank sweep: every fault at every rank and step of one job, as a map of
// what is caught and what is not. The job comes from a scenario or from a workload's name; what is done to it
// comes from the catalog of faults.
#include <CLI/CLI.hpp>
#include <chrono>
#include <fmt/format.h>
#include <memory>
#include <mutex>

#include "runners/backends/catalog/backend.h"
#include "runners/commands/command.h"
#include "runners/commands/interrupt.h"
#include "runners/commands/one_plan.h"
#include "runners/commands/options.h"
#include "runners/commands/screen.h"
#include "runners/commands/sweep_report.h"
#include "runners/find/base.h"
#include "scenarios/format/closing.h"

namespace deadrank::runners::commands {

namespace {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

struct SweepArguments {
    std::string scenario, workload = "data_parallel", catalog;
    std::uint64_t seed = 1;
    std::int64_t nodes = 0, gpus = 0, length = 0;
    std::vector<std::string> kinds, phases;
    std::vector<std::int64_t> ranks, steps;
    bool own = false, pairwise = false, whole = false, json = false;
    int jobs = 0;
};

// The job as it is asked for, with the faults of its scenario.
Result<scenarios::Plan> base_of(const SweepArguments& arguments, const Library& library) {
    auto plan = arguments.scenario.empty() ? find::usual_plan(arguments.workload, library.vocabulary)
                                           : one_plan(library, arguments.scenario, arguments.seed);
    if (!plan) return plan;
    plan->seed.number = arguments.seed;
    if (arguments.nodes > 0) plan->cluster["nodes"].number = arguments.nodes;
    if (arguments.gpus > 0) plan->cluster["gpus_per_node"].number = arguments.gpus;
    if (arguments.nodes > 0 || arguments.gpus > 0) plan->cluster.erase("ranks");
    if (arguments.length > 0) {
        if (plan->workload.count("steps") == 0)
            return refuse(ErrorCode::usage, fmt::format("{} has no steps", plan->workload_kind));
        plan->workload["steps"].number = arguments.length;
    }
    if (const auto found = scenarios::contradiction(*plan))
        return refuse(ErrorCode::usage, fmt::format("{}: {}", found->setting, found->what), found->remedy);
    return plan;
}

Result<void> check_within(const char* option, const std::vector<std::int64_t>& numbers, std::int64_t end) {
    for (const std::int64_t number : numbers) {
        if (number >= 0 && number < end) continue;
        return refuse(ErrorCode::usage, fmt::format("{} {} is outside of the job", option, number),
                      fmt::format("it goes from 0 to {}", end - 1));
    }
    return {};
}

Result<void> check(const SweepArguments& arguments, const scenarios::Plan& base,
                   const scenarios::Vocabulary& words) {
    for (const std::string& kind : arguments.kinds) {
        if (words.fault(kind)) continue;
        std::vector<std::string> known;
        for (const auto& one : words.faults) known.push_back(one.name);
        const std::string near = scenarios::nearest(kind, known);
        return refuse(ErrorCode::usage, fmt::format("there is no fault '{}'", kind),
                      near.empty() ? "deadrank explain lists them" : fmt::format("did you mean '{}'?", near));
    }
    if (arguments.own && base.faults.empty())
        return refuse(ErrorCode::usage, "--own moves a scenario's own faults", "name a scenario");
    if (auto within = check_within("--rank", arguments.ranks, base.world_size()); !within) return within;
    const auto steps = base.workload.find("steps");
    return check_within("--step", arguments.steps, steps == base.workload.end() ? 1 : steps->second.number);
}

int sweep_code(const find::Sweep& sweep, bool stopped) {
    using find::Caught;
    if (stopped) return exit_interrupted;
    auto counts = sweep.counts();
    if (counts[Caught::missed] + counts[Caught::misnamed] + counts[Caught::late] > 0) return exit_fail;
    return counts[Caught::untold] > 0 ? exit_unknown : exit_pass;
}

void sweep(const SweepArguments& arguments, Session& session) {
    auto library = open_library(session.executable, session.extension, arguments.catalog);
    if (!session.take(library)) return;
    auto base = base_of(arguments, *library);
    if (!session.take(base)) return;
    if (auto checked = check(arguments, *base, library->vocabulary); !checked)
        return session.complain(checked.error());
    std::atomic<bool>& stop = stop_on_interrupt();
    const results::Detectors detectors = library->detectors();
    find::SweepOptions options{.base = std::move(*base), .words = &library->vocabulary};
    options.own = arguments.own;
    options.pairwise = arguments.pairwise;
    options.kinds = arguments.kinds;
    options.ranks = arguments.ranks;
    options.steps = arguments.steps;
    options.phases = arguments.phases;
    options.detectors = &detectors;
    options.workers.make_runner = [&] { return std::move(*make_runner("sim", session.extension)); };
    options.workers.threads = arguments.jobs > 0 ? arguments.jobs : usual_jobs("sim");
    options.workers.stop = &stop;
    Progress progress;
    std::mutex screen;
    options.workers.progress = [&](std::size_t done, std::size_t all) {
        const std::lock_guard lock(screen);
        if (done % 16 == 0) progress.show(fmt::format("  {} of {}", done, all));
    };
    const auto begin = std::chrono::steady_clock::now();
    const find::Sweep found = find::sweep(options);
    progress.clear();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (arguments.json) {
        fmt::print("{}\n", sweep_json(found));
    } else {
        fmt::print("{}", sweep_text(found, style_of(stdout), arguments.whole, seconds));
    }
    session.code = sweep_code(found, stop.load());
}

void add_place_options(CLI::App& command, SweepArguments& arguments) {
    command.add_option("--rank", arguments.ranks, "At these ranks only")->delimiter(',')->type_name("N,…");
    command.add_option("--step", arguments.steps, "In these steps only")->delimiter(',')->type_name("N,…");
    command.add_option("--phase", arguments.phases, "In these phases too, instead of the step's beginning")
        ->delimiter(',')
        ->type_name("NAME,…")
        ->check(CLI::IsMember({"data", "forward", "backward", "reduce", "optimizer", "checkpoint"}));
    command.add_flag("--pairwise", arguments.pairwise,
                     "Not every combination, but every two of fault, rank, step and phase together");
}

void add_sweep(CLI::App& command, Session& session) {
    command.footer(
        "Without an expectation, truth and control judge: named = a culprit is among those blamed, noticed = "
        "something rang and named nobody, misnamed = somebody else is blamed, missed = the job took harm in "
        "silence, harmless = nothing happened and nothing rang. With --own the scenario's expectation "
        "judges.\n\n"
        "Exit code: 0 all that harms is caught, 1 something is missed or misnamed, 2 something is unknown, "
        "64 "
        "the command line is wrong, 130 stopped (what was played is shown).\n\n"
        "Examples:\n"
        "  deadrank sweep                                            data_parallel, 8 ranks, 8 steps\n"
        "  deadrank sweep --workload zero --fault kill_rank --fault slow_rank --map\n"
        "  deadrank sweep communication/rank_leaves_all_reduce --own every rank and step of its own fault\n"
        "  deadrank sweep --pairwise --phase forward,backward,reduce");
    auto arguments = std::make_shared<SweepArguments>();
    auto* scenario =
        command.add_option("scenario", arguments->scenario, "The job of this scenario, or of this plan");
    scenario->type_name("SCENARIO");
    command.add_option("--workload", arguments->workload, "A job of this kind, as usual [data_parallel]")
        ->type_name("NAME")
        ->excludes(scenario);
    command.add_option("--seed", arguments->seed, "Under which it is resolved and played [1]")
        ->type_name("N");
    command.add_option("--nodes", arguments->nodes, "Machines [as the job has]")->type_name("N");
    command.add_option("--gpus", arguments->gpus, "Devices of a machine [as the job has]")->type_name("N");
    command.add_option("--steps", arguments->length, "Steps of the training [as the job has]")
        ->type_name("N");
    command.add_option("--fault", arguments->kinds, "This kind only; repeat for several")
        ->type_name("KIND")
        ->allow_extra_args(false);
    add_place_options(command, *arguments);
    command.add_flag("--own", arguments->own, "The scenario's own faults, moved about, by its expectation");
    command.add_flag("--map", arguments->whole, "A line for each rank below rows that are not all well");
    command.add_option("-j,--jobs", arguments->jobs, "Runs at once [the processors]")->type_name("N");
    add_catalog(command, arguments->catalog);
    add_json(command, arguments->json, "A JSON object with every cell");
    command.callback([arguments, &session] { sweep(*arguments, session); });
}

}  // namespace

extern const CommandRow sweep_row{
    "sweep", "Plays every fault at every rank and step of a job: what is caught?", add_sweep};

}  // namespace deadrank::runners::commands
