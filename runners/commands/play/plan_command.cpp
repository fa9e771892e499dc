// runners/commands/play/plan_command.cpp — deadrank replay plan: a scenario with every draw made, as TOML to
// replay and attach to a bug report.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

#include "runners/backends/catalog/backend.h"
#include "runners/commands/command.h"
#include "runners/commands/play/plan_notes.h"
#include "runners/commands/ranges.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/extension/extension.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/model/plan.h"
#include "scenarios/model/toml_text.h"

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

// A program is written in lines: the same text between three quotes, which escape nothing.
std::string with_lines(std::string toml, const scenarios::Values& workload) {
    for (const auto& [name, value] : workload) {
        const std::string& text = value.text;
        const bool plain = std::none_of(text.begin(), text.end(), [](unsigned char letter) {
            return (letter < 0x20 && letter != '\n' && letter != '\t') || letter == 0x7f;
        });
        if (text.find('\n') == std::string::npos || text.find("'''") != std::string::npos || !plain) continue;
        const std::string row = fmt::format("\n{} = {}\n", name, scenarios::toml_text(text));
        const auto at = toml.find(row);
        if (at != std::string::npos)
            toml.replace(at, row.size(), fmt::format("\n{} = '''\n{}'''\n", name, text));
    }
    return toml;
}

void print_plan(const scenarios::Plan& plan, bool json) {
    if (!json) {
        print_out("{}", with_lines(scenarios::to_toml(plan), plan.workload));
        return;
    }
    const nlohmann::ordered_json document = {{"scenario", plan.scenario},
                                             {"seed", plan.seed.number},
                                             {"variant", scenarios::variant_name(plan.variant)},
                                             {"digest", scenarios::digest(plan)},
                                             {"toml", scenarios::to_toml(plan)}};
    print_out("{}\n", document.dump(2));
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
        if (!arguments.json && arguments.variant == "fault" && arguments.runner == scenarios::BackendId::sim)
            print_notes(scenario, *trial, library->taxonomy, session.extension.all_faults(), **runner);
    }
}

void add_plan(CLI::App& command, Session& session) {
    command.footer(
        "The plan is TOML; `deadrank replay` plays it. Comments at its end say how long a step of the "
        "control takes, or why it has none, where the control rings, that a fault has no effect, "
        "and what of the scenario asks for little. Of the faulty run they say nothing else.\n\n"
        "Example:\n"
        "  deadrank replay plan communication/rank_leaves_all_reduce --seed 7 > plan.toml");
    auto arguments = std::make_shared<PlanArguments>();
    command.add_option("scenario", arguments->scenario, "An id or a file")->required()->type_name("SCENARIO");
    command.add_option("--seed", arguments->seed, "The seed that makes every draw [1]")
        ->type_name("N")
        ->check(whole_number());
    command.add_option("--variant", arguments->variant, "fault, control or healed [fault]")
        ->check(CLI::IsMember({"fault", "control", "healed"}))
        ->type_name("NAME");
    command.add_option("--runner", arguments->runner, "For which runner [sim]")->type_name("NAME");
    add_catalog(command, arguments->catalog);
    add_json(command, arguments->json, "A JSON object with the plan's digest and its TOML");
    command.callback([arguments, &session] { plan(*arguments, session); });
}

}  // namespace

extern const CommandRow plan_row{"plan", "Prints what a seed makes of a scenario: a plan", add_plan};

}  // namespace deadrank::runners::commands
