// runners/commands/find/sweep_command.cpp — deadrank sweep: every fault at every rank and step of one job, as
// a map of what is caught and what is not. The job comes from a scenario or a workload's name, the faults
// from the catalog or that scenario.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "results/record/words.h"
#include "results/reports/style.h"
#include "runners/backends/catalog/backend.h"
#include "runners/commands/command.h"
#include "runners/commands/find/sweep_program.h"
#include "runners/commands/gpu_options.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/explore/moments.h"
#include "runners/find/harm.h"
#include "runners/find/sweep.h"
#include "scenarios/format/closing.h"
#include "scenarios/model/enum_words.h"

namespace deadrank::runners::commands {

// The map: a row for each fault, and for each step the sign of its worst rank.
// `whole`: one line per rank below each row that is not all well.
std::string sweep_text(const find::Sweep& sweep, const results::reports::Style& style, bool whole,
                       double seconds);
std::string sweep_json(const find::Sweep& sweep);

namespace {

using find::Caught;
using find::Sweep;
using find::SweepCell;
using results::reports::Ink;
using results::reports::pad_left;
using results::reports::pad_right;
using results::reports::Style;

Ink ink_of(Caught caught) {
    switch (caught) {
        case Caught::named:
            return Ink::green;
        case Caught::noticed:
        case Caught::late:
            return Ink::cyan;
        case Caught::misnamed:
            return Ink::yellow;
        case Caught::missed:
        case Caught::untold:
            return Ink::red;
        default:
            return Ink::dim;
    }
}

bool is_bad(Caught caught) {
    return caught == Caught::missed || caught == Caught::misnamed || caught == Caught::late ||
           caught == Caught::untold;
}

// One column for each step and phase that occurs anywhere; the first is for faults at the start.
struct Columns {
    std::vector<std::pair<std::int64_t, std::string>> all;

    explicit Columns(const Sweep& sweep) {
        std::set<std::pair<std::int64_t, std::string>> seen;
        for (const SweepCell& cell : sweep.cells) seen.insert({cell.step, cell.phase});
        all.assign(seen.begin(), seen.end());
    }
};

std::string strip(const std::vector<const SweepCell*>& cells, const Columns& columns, const Style& style) {
    std::string text;
    for (const auto& [step, phase] : columns.all) {
        const SweepCell* worst = nullptr;
        for (const SweepCell* cell : cells) {
            if (cell->step == step && cell->phase == phase && (!worst || cell->caught > worst->caught))
                worst = cell;
        }
        text += worst ? style.paint(ink_of(worst->caught), find::sign_of(worst->caught)) : " ";
    }
    return text;
}

std::string counts_text(const std::map<Caught, std::size_t>& counts, const Style& style) {
    std::string text;
    for (const auto& [caught, count] : counts) {
        if (!text.empty()) text += " · ";
        text += style.paint(ink_of(caught), fmt::format("{} {}", count, find::name_of(caught)));
    }
    return text;
}

std::string legend(const Style& style) {
    std::string text = "  ";
    for (const Caught caught : {Caught::named, Caught::noticed, Caught::late, Caught::misnamed,
                                Caught::missed, Caught::harmless, Caught::untold}) {
        text +=
            fmt::format("{} {}  ", style.paint(ink_of(caught), find::sign_of(caught)), find::name_of(caught));
    }
    return text + "(blank: no such moment)\n";
}

std::string place_of(const SweepCell& cell) {
    std::string text = cell.rank < 0 ? "the job" : fmt::format("rank {}", cell.rank);
    if (cell.step >= 0) text += fmt::format(", step {}", cell.step);
    if (!cell.phase.empty()) text += ", " + cell.phase;
    return text;
}

std::vector<const SweepCell*> cells_of(const Sweep& sweep, std::size_t row) {
    std::vector<const SweepCell*> cells;
    for (const SweepCell& cell : sweep.cells) {
        if (cell.row == row) cells.push_back(&cell);
    }
    return cells;
}

std::string rank_lines(const std::vector<const SweepCell*>& cells, const Columns& columns, std::size_t width,
                       const Style& style) {
    std::map<std::int64_t, std::vector<const SweepCell*>> by_rank;
    for (const SweepCell* cell : cells) by_rank[cell->rank].push_back(cell);
    if (by_rank.size() < 2) return "";
    std::string text;
    for (const auto& [rank, some] : by_rank) {
        text += fmt::format("  {} {}\n", style.paint(Ink::dim, pad_left(fmt::format("rank {}", rank), width)),
                            strip(some, columns, style));
    }
    return text;
}

// What needs attention: each row's bad cells, grouped by what was reported, with the first place of each.
std::string bad_text(const Sweep& sweep, const Style& style) {
    std::string text;
    for (std::size_t row = 0; row < sweep.rows.size(); ++row) {
        std::map<std::pair<Caught, std::string>, std::vector<const SweepCell*>> ways;
        for (const SweepCell* cell : cells_of(sweep, row)) {
            if (!is_bad(cell->caught)) continue;
            // Group by the words before " about ": the ranks and steps behind them differ from cell to cell.
            const std::string said = cell->says.substr(0, cell->says.find(" about "));
            ways[{cell->caught, said}].push_back(cell);
        }
        for (const auto& [way, cells] : ways) {
            text += fmt::format("  {} {}: {} in {}, first at {}: {}\n",
                                style.paint(ink_of(way.first), find::sign_of(way.first)), sweep.rows[row],
                                find::name_of(way.first), results::counted(cells.size(), "place"),
                                place_of(*cells.front()), cells.front()->says);
        }
    }
    return text;
}

}  // namespace

std::string sweep_text(const Sweep& sweep, const Style& style, bool whole, double seconds) {
    const Columns columns(sweep);
    std::size_t width = 8;
    for (const std::string& row : sweep.rows) width = std::max(width, results::reports::columns_of(row));
    std::string text;
    for (std::size_t row = 0; row < sweep.rows.size(); ++row) {
        const auto cells = cells_of(sweep, row);
        if (cells.empty()) continue;
        text += fmt::format("  {} {}  {}\n", pad_right(sweep.rows[row], width), strip(cells, columns, style),
                            counts_text(sweep.counts(row), style));
        const bool bad =
            std::any_of(cells.begin(), cells.end(), [](const auto* cell) { return is_bad(cell->caught); });
        if (whole && bad) text += rank_lines(cells, columns, width, style);
    }
    text += "\n" + legend(style);
    if (const std::string bad = bad_text(sweep, style); !bad.empty()) text += "\n" + bad;
    for (const std::string& sentence : sweep.left_out)
        text += fmt::format("  {}\n", style.paint(Ink::dim, "left out: " + sentence));
    text += fmt::format("\n  {} · {} · {:.1f} s\n", results::counted(sweep.cells.size(), "run"),
                        counts_text(sweep.counts(), style), seconds);
    if (sweep.cells.size() < sweep.planned)
        text += fmt::format("  stopped before {} of {} were played\n", sweep.planned - sweep.cells.size(),
                            sweep.planned);
    return text;
}

std::string sweep_json(const Sweep& sweep) {
    nlohmann::ordered_json cells = nlohmann::ordered_json::array();
    for (const SweepCell& cell : sweep.cells) {
        nlohmann::ordered_json one = {{"fault", sweep.rows[cell.row]},
                                      {"rank", cell.rank},
                                      {"step", cell.step},
                                      {"phase", cell.phase},
                                      {"caught", find::name_of(cell.caught)},
                                      {"harm", find::name_of(cell.harm)},
                                      {"says", cell.says}};
        if (cell.after != results::never) one["after_ns"] = cell.after.count();
        cells.push_back(std::move(one));
    }
    nlohmann::ordered_json counts = nlohmann::ordered_json::object();
    for (const auto& [caught, count] : sweep.counts()) counts[std::string(find::name_of(caught))] = count;
    const nlohmann::ordered_json json = {
        {"planned", sweep.planned}, {"counts", counts}, {"left_out", sweep.left_out}, {"cells", cells}};
    return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

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
    ProgramSweepArguments program;
};

// With a command behind `--`, and what both kinds of sweep read.
ProgramSweepArguments program_arguments(const SweepArguments& arguments) {
    ProgramSweepArguments program = arguments.program;
    program.program.seed = arguments.seed;
    program.program.gpus.count = static_cast<int>(arguments.gpus);
    program.faults = arguments.kinds;
    program.ranks = arguments.ranks;
    program.steps = arguments.steps;
    program.json = arguments.json;
    program.jobs = arguments.jobs;
    return program;
}

Result<void> check_program(const SweepArguments& arguments) {
    if (!arguments.scenario.empty() || arguments.own || arguments.pairwise || arguments.whole ||
        !arguments.phases.empty() || arguments.nodes > 0 || arguments.length > 0)
        return refuse(ErrorCode::usage,
                      "--own, --pairwise, --map, --phase, --nodes, --steps and a scenario are for our workloads",
                      "leave them out where a command stands behind --");
    const ProgramSweepArguments& program = arguments.program;
    if (program.orders > 0 && (!arguments.kinds.empty() || !arguments.ranks.empty() || !arguments.steps.empty() ||
                               !program.html.empty() || !program.junit.empty() || !program.table.empty()))
        return refuse(ErrorCode::usage, "--orders plays the program without a fault",
                      "leave --fault, --rank, --step, --html, --junit and --table out");
    return {};
}

// The requested job, with its scenario's faults.
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
    if (!arguments.program.program.command.empty()) {
        if (const auto fits = check_program(arguments); !fits) return session.complain(fits.error());
        if (arguments.program.orders > 0) return sweep_orders(program_arguments(arguments), session);
        return sweep_program(program_arguments(arguments), session);
    }
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
        print_out("{}\n", sweep_json(found));
    } else {
        print_out("{}", sweep_text(found, style_of(stdout), arguments.whole, seconds));
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
                     "Every pair of fault, rank, step and phase, instead of every combination");
}

void add_sweep(CLI::App& command, Session& session) {
    command.footer(
        "Each run is compared with truth and control: named = an alarm names a culprit, noticed = an alarm "
        "names no rank, misnamed = an alarm names another rank, missed = the job was harmed without an alarm, "
        "harmless = no harm and no alarm. With --own the scenario's expectation judges.\n\n"
        "With a command behind -- the program runs unmodified on the simulated cluster. Good outcomes: "
        "unaffected, recovered, a clear error, an error that names no rank. Bad ones: an error that names "
        "another rank, a watchdog after minutes, a lost checkpoint, a hang, a silent wrong result.\n\n"
        "With --orders each run draws what comes first where a real machine may choose: events of one time, the "
        "threads of a rank, how late a thread begins. Any end that is not the usual one is bad: the program depends "
        "on chance.\n\n"
        "Exit code: 0 each harmful fault is caught, 1 one is missed or misnamed, 2 one is unknown, "
        "64 "
        "the command line is wrong, 130 stopped (what was played is shown).\n\n"
        "Examples:\n"
        "  deadrank sweep -- torchrun --nproc-per-node 8 train.py    kill each rank before each call\n"
        "  deadrank sweep --fault 'delay 45min' --fault skip --rank 0,1 --html sweep.html -- torchrun "
        "--nproc-per-node 8 train.py\n"
        "  deadrank sweep --fault 'disk full' -- torchrun --nproc-per-node 8 train.py   at each checkpoint\n"
        "  deadrank sweep --orders 50 -- torchrun --nproc-per-node 8 train.py   no fault: other orders of threads and "
        "messages\n"
        "  deadrank sweep                                            data_parallel, 8 ranks, 8 steps\n"
        "  deadrank sweep --workload zero --fault kill_rank --fault slow_rank --map\n"
        "  deadrank sweep communication/rank_leaves_all_reduce --own every rank and step of its own fault\n"
        "  deadrank sweep --pairwise --phase forward,backward,reduce");
    auto arguments = std::make_shared<SweepArguments>();
    auto* scenario =
        command.add_option("scenario", arguments->scenario, "The job of this scenario, or of this plan");
    scenario->type_name("SCENARIO");
    command.add_option("--workload", arguments->workload, "A job with this workload and its defaults [data_parallel]")
        ->type_name("NAME")
        ->excludes(scenario);
    command.add_option("--seed", arguments->seed, "Seed of every draw [1]")
        ->type_name("N");
    command.add_option("--nodes", arguments->nodes, "Machines [as the job has]")->type_name("N");
    command
        .add_option("--gpus", arguments->gpus,
                    "Devices of a machine [as the job has]; of a program: simulated GPUs for it")
        ->type_name("N");
    command.add_option("--steps", arguments->length, "Steps of the training [as the job has]")
        ->type_name("N");
    command
        .add_option("--fault", arguments->kinds,
                    "This kind only; repeat for several. Of a program: a line as of inject, without rank and "
                    "moment [kill]")
        ->type_name("FAULT")
        ->allow_extra_args(false);
    add_place_options(command, *arguments);
    command.add_flag("--own", arguments->own, "The scenario's own faults at every moment, judged by its expectation");
    command.add_flag("--map", arguments->whole, "A line for each rank below rows that are not all well");
    command.add_option("-j,--jobs", arguments->jobs, "Runs at once [the processors]")->type_name("N");
    auto& program = arguments->program;
    command.add_option("--command", program.program.command)->allow_extra_args(false)->group("");
    command.add_option("--ranks", program.program.ranks, "Of a program: number of ranks, instead of the command's")
        ->type_name("N")
        ->check(CLI::Range(1, 100000).description(""));
    add_real_limit(command, program.program.real_limit);
    add_compute(command, program.program.compute);
    command
        .add_option("--at", program.moments,
                    "Of a program: before its calls, at its steps, in its phases, or at its files [calls]")
        ->type_name("WHAT")
        ->check(CLI::IsMember(scenarios::list_words<explore::MomentKind>()).description(""));
    command
        .add_option("--accept", program.accepted,
                    "Of a program: outcomes that do not fail the sweep: " + fmt::format("{}", fmt::join(outcome_words(), ", ")))
        ->delimiter(',')
        ->type_name("HOW,…")
        ->check(CLI::IsMember(outcome_words()).description(""));
    command
        .add_option("--orders", program.orders,
                    "Of a program: no fault, but so many orders of what its ranks, threads and messages do at one moment")
        ->type_name("N")
        ->check(CLI::Range(1, 1'000'000).description(""));
    command.add_option("--html", program.html, "Of a program: write a page with the map and a run of each way")
        ->type_name("FILE");
    command.add_option("--junit", program.junit, "Of a program: write JUnit XML for CI")->type_name("FILE");
    command.add_option("--table", program.table, "Of a program: write a Markdown table")->type_name("FILE");
    add_catalog(command, arguments->catalog);
    add_json(command, arguments->json, "A JSON object with every cell");
    command.callback([arguments, &session] { sweep(*arguments, session); });
}

}  // namespace

extern const CommandRow sweep_row{
    "sweep", "Plays every fault at every rank and call of a job", add_sweep};

}  // namespace deadrank::runners::commands
