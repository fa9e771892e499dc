// runners/commands/play/trace_command.cpp — deadrank replay trace: writes what the ranks of a run did as a
// trace for ui.perfetto.dev. Plays a scenario, or reads a kept run.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>

#include "results/record/text_file.h"
#include "results/reports/trace.h"
#include "runners/backends/catalog/backend.h"
#include "runners/commands/command.h"
#include "runners/commands/ranges.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/commands/trust.h"
#include "runners/pipeline/play_trial.h"
#include "runners/pipeline/run_files.h"
#include "scenarios/format/plan_file.h"

namespace deadrank::runners::commands {

namespace {

using results::reports::Trace;
using scenarios::Result;

struct TraceArguments {
    std::string what, catalog, runner = "sim", variant = "fault", out = "trace.json";
    std::uint64_t seed = 1;
    bool trust = false;
    std::size_t most = results::reports::trace_events_most;
};

bool is_run(const std::filesystem::path& place) {
    std::error_code ignored;
    return std::filesystem::exists(place / "evidence.jsonl", ignored) ||
           (place.extension() == ".jsonl" && std::filesystem::exists(place, ignored));
}

Result<Trace> of_files(const TraceArguments& arguments, const Library& library) {
    auto run = read_run(library, arguments.what);
    if (!run) return tl::unexpected(run.error());
    return results::reports::trace_of(run->record.evidence, run->findings,
                                      run->has_truth ? &run->record.truth : nullptr, arguments.most);
}

Result<Trace> of_scenario(const TraceArguments& arguments, const Library& library, Session& session) {
    auto runner = make_runner(arguments.runner, session.extension);
    if (!runner) return tl::unexpected(runner.error());
    SelectionOptions named;
    named.names = {arguments.what};
    auto selection = select(library, named);
    if (!selection) return tl::unexpected(selection.error());
    if (!selection->broken.empty()) return tl::unexpected(selection->broken.front());
    if (selection->scenarios.size() != 1) {
        return scenarios::refuse(scenarios::ErrorCode::usage,
                                 fmt::format("'{}' means {} scenarios, and a trace shows one run",
                                             arguments.what, selection->scenarios.size()),
                                 "name one of them; deadrank list has their names");
    }
    if (arguments.runner != scenarios::BackendId::sim && !arguments.trust) {
        if (auto trusted = check_trust(library, selection->scenarios); !trusted)
            return tl::unexpected(trusted.error());
    }
    auto trial = scenarios::resolve(selection->scenarios.front(), scenarios::Seed{arguments.seed},
                                    (*runner)->capabilities(), library.vocabulary);
    if (!trial) return tl::unexpected(trial.error());
    const scenarios::Plan& plan = arguments.variant == "control"  ? trial->control
                                  : arguments.variant == "healed" ? trial->healed
                                                                  : trial->fault;
    PipelineOptions options;
    options.stop = &stop_on_interrupt();
    auto played = play_plan(plan, **runner, options);
    if (!played) return tl::unexpected(played.error());
    return results::reports::trace_of(played->record.evidence, played->findings, &played->record.truth,
                                      arguments.most);
}

void trace(const TraceArguments& arguments, Session& session) {
    auto library = open_library(session.executable, session.extension, arguments.catalog);
    if (!session.take(library)) return;
    auto made =
        is_run(arguments.what) ? of_files(arguments, *library) : of_scenario(arguments, *library, session);
    if (!session.take(made)) return;
    if (!made->left_out.empty()) print_error("deadrank: left out: {}\n", made->left_out);
    if (arguments.out == "-") {
        print_out("{}", made->json);
        return;
    }
    if (const auto written = results::write_text(made->json, arguments.out); !written) {
        session.complain(written.error());
        return;
    }
    print_out("{}: {} events; open it at ui.perfetto.dev or chrome://tracing\n", arguments.out, made->events);
}

void add_trace(CLI::App& command, Session& session) {
    command.footer(
        "Nodes are processes and ranks are threads; collectives are joined by arrows from the rank that came "
        "last; loss and memory are counters; faults and alarms are marked. What does not fit under --most is "
        "named, and ranks at fault come first.\n\n"
        "Examples:\n"
        "  deadrank replay trace communication/rank_leaves_all_reduce\n"
        "  deadrank replay trace scheduling/one_slow_device --seed 4 --variant healed -o healed.json\n"
        "  deadrank replay trace out/communication/rank_leaves_all_reduce/1      a run that was kept with "
        "run "
        "--out");
    auto arguments = std::make_shared<TraceArguments>();
    command
        .add_option("what", arguments->what,
                    "A scenario to play, or a run's directory or evidence file to read")
        ->required()
        ->type_name("SCENARIO|PLACE");
    command.add_option("--seed", arguments->seed, "The seed that makes every draw [1]")
        ->type_name("N")
        ->check(whole_number());
    command.add_option("--variant", arguments->variant, "Which run of the scenario [fault]")
        ->type_name("NAME")
        ->check(CLI::IsMember({"fault", "control", "healed"}).description(""));
    command.add_option("--runner", arguments->runner, "Where to play: sim, local [sim]")->type_name("NAME");
    add_trust(command, arguments->trust);
    command.add_option("-o,--out", arguments->out, "The file to write; - is standard output [trace.json]")
        ->type_name("FILE");
    command.add_option("--most", arguments->most, "Events at most [400000]")
        ->type_name("N")
        ->check(CLI::Range(100, 50'000'000).description(""));
    add_catalog(command, arguments->catalog);
    command.callback([arguments, &session] { trace(*arguments, session); });
}

}  // namespace

extern const CommandRow trace_row{"trace", "Writes a run as a trace for Perfetto", add_trace};

}  // namespace deadrank::runners::commands
