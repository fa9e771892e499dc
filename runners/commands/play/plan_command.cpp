// runners/commands/play/plan_command.cpp — deadrank plan: a scenario with every draw made, as TOML to replay
// and attach to a bug report.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "results/detectors/detector.h"
#include "results/text/words.h"
#include "runners/backends/catalog/backend.h"
#include "runners/console/command.h"
#include "runners/console/selection.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners::commands {

namespace {

struct PlanArguments {
    std::string scenario, catalog, runner = "sim", variant = "fault";
    std::uint64_t seed = 1;
    bool json = false;
};

const scenarios::Plan& chosen_plan(const scenarios::Trial& trial, const std::string& variant) {
    if (variant == "control") return trial.control;
    return variant == "healed" ? trial.healed : trial.fault;
}

// The first error of a run, and how far its rank had come; or how the job ended.
std::string first_trouble(const results::Evidence& evidence) {
    std::map<results::Rank, std::int64_t> steps;
    std::string end = "the job ends";
    for (const results::Event& event : evidence.events()) {
        if (const auto* begin = event.as<results::StepBegin>()) steps[event.rank] = begin->step;
        if (const auto* stop = event.as<results::JobStop>()) end = evidence.text(stop->reason);
        const auto* log = event.as<results::RankLog>();
        if (!log || log->level != 2) continue;
        std::string_view words = evidence.text(log->line);
        constexpr std::string_view heading = "Traceback (most recent call last):\n";
        if (words.starts_with(heading)) words.remove_prefix(heading.size());
        const auto step = steps.find(event.rank);
        return fmt::format(
            "rank {} fails {}: {}", event.rank,
            step == steps.end() ? "before its first step" : fmt::format("in step {}", step->second),
            words.substr(0, words.find('\n')));
    }
    return end;
}

bool fails(const results::Evidence& evidence) {
    const auto stops = evidence.each<results::JobStop>();
    return !stops.empty() && stops.back()->as<results::JobStop>()->code != 0;
}

// How long a step of the first rank takes without the fault, as it is played here, or why that is not known.
void print_usual_step(Runner& runner, const scenarios::Plan& control) {
    constexpr std::int64_t most_ranks = 4096;
    if (control.number(control.cluster, "nodes") * control.number(control.cluster, "gpus_per_node") >
        most_ranks)
        return fmt::print("# control: not played here for the time of a step, with more than {} ranks\n",
                          most_ranks);
    const auto record = runner.run(control, {});
    if (!record) return fmt::print("# control: cannot be played: {}\n", record.error().what);
    const results::Evidence& evidence = record->evidence;
    std::vector<results::Time> steps;
    results::Time began{-1};
    for (const results::Event& event : evidence.events()) {
        if (event.rank != 0) continue;
        if (event.as<results::StepBegin>()) began = event.at;
        if (event.as<results::StepEnd>() && began >= results::Time{0}) steps.push_back(event.at - began);
    }
    if (!steps.empty()) {
        std::nth_element(steps.begin(), steps.begin() + std::ssize(steps) / 2, steps.end());
        fmt::print("# control: a step takes {} on rank 0, in the middle of all\n",
                   results::duration_text(steps[steps.size() / 2]));
    } else {
        fmt::print("# control: rank 0 ends no step, so none has a time: {}\n", first_trouble(evidence));
    }
    if (!steps.empty() && fails(evidence)) fmt::print("# control: {}\n", first_trouble(evidence));
    // Nothing is wrong in a control: either the detectors are, or something else in the scenario is.
    for (const results::Finding& finding : results::detect(evidence, results::all_detectors()))
        fmt::print("# control: it rings by itself: {}: {}\n", finding.symptom, finding.says);
}

// What a writer of the scenario would like to know before it is played, as comments behind the plan.
void print_notes(const scenarios::Scenario& scenario, const scenarios::Trial& trial, Runner& runner) {
    print_usual_step(runner, trial.control);
    const auto& blames = scenario.expect.blames;
    if (!scenario.expect.silent() && std::find(blames.begin(), blames.end(), "rank") == blames.end())
        fmt::print("# expect: `blames` asks for no rank, so a finding may name any ranks, or none\n");
    if (scenario.heal.is_the_control() && scenario.heal.as_control.empty())
        fmt::print(
            "# heal: it leaves nothing of the fault and changes nothing else: the healed run is the control "
            "again "
            "and proves nothing. Keep the trigger, fault = \"keep\", beside the setting that fixes it, or "
            "say "
            "why there is none: as_control = \"…\"\n");
}

void print_plan(const scenarios::Plan& plan, bool json) {
    if (!json) {
        fmt::print("{}", scenarios::to_toml(plan));
        return;
    }
    const nlohmann::ordered_json document = {{"scenario", plan.scenario},
                                             {"seed", plan.seed.number},
                                             {"variant", scenarios::variant_name(plan.variant)},
                                             {"digest", scenarios::digest(plan)},
                                             {"toml", scenarios::to_toml(plan)}};
    fmt::print("{}\n", document.dump(2));
}

void plan(const PlanArguments& arguments, Session& session) {
    auto library = open_library(session.executable, session.extension, arguments.catalog);
    if (!session.take(library)) return;
    auto runner = make_runner(arguments.runner, session.extension);
    if (!session.take(runner)) return;
    SelectionOptions one;
    one.names = {arguments.scenario};
    auto selection = select(*library, one);
    if (!session.take(selection)) return;
    for (const scenarios::Error& error : selection->broken) session.complain(error);
    for (const auto& scenario : selection->scenarios) {
        auto trial = scenarios::resolve(scenario, scenarios::Seed{arguments.seed}, (*runner)->capabilities(),
                                        library->vocabulary);
        if (!session.take(trial)) continue;
        print_plan(chosen_plan(*trial, arguments.variant), arguments.json);
        if (!arguments.json && arguments.variant == "fault" && arguments.runner == "sim")
            print_notes(scenario, *trial, **runner);
    }
}

void add_plan(CLI::App& command, Session& session) {
    command.footer(
        "The plan is TOML; `deadrank replay` plays it. Comments at its end say how long a step of the "
        "control takes, or why it has none, "
        "and what of the scenario asks for little.\n\n"
        "Example:\n"
        "  deadrank plan communication/rank_leaves_all_reduce --seed 7 > plan.toml");
    auto arguments = std::make_shared<PlanArguments>();
    command.add_option("scenario", arguments->scenario, "An id or a file")->required()->type_name("SCENARIO");
    command.add_option("--seed", arguments->seed, "The seed that makes every draw [1]")->type_name("N");
    command.add_option("--variant", arguments->variant, "fault, control or healed [fault]")
        ->check(CLI::IsMember({"fault", "control", "healed"}))
        ->type_name("NAME");
    command.add_option("--runner", arguments->runner, "For which runner [sim]")->type_name("NAME");
    add_catalog(command, arguments->catalog);
    add_json(command, arguments->json, "A JSON object with the plan's digest and its TOML");
    command.callback([arguments, &session] { plan(*arguments, session); });
}

}  // namespace

extern const CommandRow plan_row{"plan", "Prints what a seed makes of a scenario: nothing is left to chance",
                                 add_plan};

}  // namespace deadrank::runners::commands
