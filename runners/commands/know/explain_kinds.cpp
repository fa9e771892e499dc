// runners/commands/know/explain_kinds.cpp — Explains a scenario by its story, and a fault kind or workload by
// its parameters.
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "results/judging/alarm.h"
#include "results/record/words.h"
#include "runners/commands/know/explain_words.h"
#include "scenarios/model/python_program.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::runners::commands {

namespace {

// A setting in the scenario's own notation, before the seed decides.
std::string setting_text(const scenarios::Setting& setting) {
    if (!setting.selector.empty()) return setting.selector;
    if (setting.range) {
        return fmt::format("{}..{}", scenarios::value_text(setting.range->first),
                           scenarios::value_text(setting.range->second));
    }
    std::vector<std::string> options;
    for (const auto& option : setting.options) {
        const std::string text = scenarios::value_text(option);
        const auto lines = std::count(text.begin(), text.end(), '\n');
        options.push_back(lines > 1 ? fmt::format("({} lines)", lines) : text);
    }
    return fmt::format("{}", fmt::join(options, " or "));
}

std::string settings_text(const scenarios::Settings& settings) {
    std::vector<std::string> parts;
    for (const auto& [name, setting] : settings) parts.push_back(name + " " + setting_text(setting));
    return joined(parts);
}

std::string fault_text(const scenarios::FaultSettings& fault) {
    std::string text = fault.kind;
    if (const std::string with = settings_text(fault.parameters); !with.empty()) text += " with " + with;
    if (const std::string when = settings_text(fault.when.values); !when.empty()) text += " when " + when;
    return text;
}

std::string expected_text(const scenarios::Expectation& expect) {
    if (!expect.unseen.empty()) return "nothing: " + expect.unseen;
    std::string text = expect.symptom_text();
    if (!expect.blames.empty()) text += ", naming the " + joined(scenarios::words_of(expect.blames));
    text += ", within " + results::duration_text(results::Time{expect.within});
    if (expect.reaction != scenarios::WantedReaction::any)
        text += fmt::format("; the job should {}", results::wanted_text(expect.reaction));
    return text;
}

std::string parameter_text(const scenarios::Parameter& parameter) {
    std::string text = fmt::format("{}", scenarios::type_name(parameter.type));
    if (!parameter.choices.empty()) text = joined(parameter.choices);
    if (!parameter.fallback.empty()) {
        text += fmt::format(" [{}]", parameter.fallback);
    } else if (!parameter.optional) {
        text += ", required";
    }
    return parameter.what.empty() ? text : fmt::format("{} — {}", text, parameter.what);
}

// What becomes of each fault, what the fix changes, and what is asked of the healed run.
void explain_heal(Explanation& explanation, const scenarios::Scenario& scenario) {
    const scenarios::Heal& heal = scenario.heal;
    add_row(explanation, "healed by", heal.says);
    if (!heal.keeps_a_fault()) {
        add_row(explanation, "healed run", scenario.faults.empty() ? "" : "without any fault");
    } else {
        for (std::size_t i = 0; i < heal.faults.size(); ++i) {
            const scenarios::HealedFault& one = heal.faults[i];
            const std::string change = settings_text(one.parameters);
            std::string fate = one.kept ? "kept" : "gone";
            if (!change.empty()) fate += " with " + change;
            if (!one.when.values.empty()) fate += ", when " + settings_text(one.when.values);
            add_row(explanation, "healed run",
                    fmt::format("fault {} ({}): {}", i + 1, scenario.faults[i].kind, fate));
        }
    }
    const std::string cluster = settings_text(heal.cluster), workload = settings_text(heal.workload);
    add_row(explanation, "healed run", cluster.empty() ? "" : "cluster with " + cluster);
    add_row(explanation, "healed run", workload.empty() ? "" : "workload with " + workload);
    add_row(explanation, "then",
            heal.expect.silent()
                ? fmt::format("no alarm; the job should {}", results::wanted_text(heal.expect.reaction))
                : expected_text(heal.expect));
    add_row(explanation, "as control", heal.as_control);
    add_row(explanation, "workaround", heal.workaround);
}

}  // namespace

Explanation explain_scenario(const scenarios::Scenario& scenario) {
    Explanation explanation{"scenario", scenario.id, scenario.story, {}};
    add_row(explanation, "title", scenario.teach.title);
    add_row(explanation, "one sees", scenario.teach.sees);
    add_row(explanation, "symptom", scenario.bug.symptom);
    add_row(explanation, "cause", scenario.bug.cause);
    add_row(explanation, "fix", scenario.bug.fix);
    add_row(explanation, "replays", joined(scenario.bug.replays));
    const std::string settings = settings_text(scenario.workload);
    add_row(explanation, "workload", scenario.workload_kind + (settings.empty() ? "" : " with " + settings));
    add_row(explanation, "cluster", settings_text(scenario.cluster));
    for (const auto& fault : scenario.faults) add_row(explanation, "fault", fault_text(fault));
    add_row(explanation, "must be seen", expected_text(scenario.expect));
    add_row(explanation, "also right", joined(scenario.expect.also));
    explain_heal(explanation, scenario);
    add_row(explanation, "runs on", scenario.backends.empty() ? "sim" : joined(scenario.backends));
    for (const auto& [backend, why] : scenario.parity)
        add_row(explanation, "differs on", backend + ": " + why);
    add_row(explanation, "file", scenario.file.string());
    add_row(explanation, "play it", "deadrank run " + scenario.id);
    return explanation;
}

Explanation explain_kind(const std::string& what, const scenarios::Kind& kind) {
    Explanation explanation{what, kind.name, kind.what, {}};
    for (const auto& parameter : kind.parameters)
        add_row(explanation, parameter.name, parameter_text(parameter));
    add_row(explanation, "(levers)", joined(kind.levers));
    add_row(explanation, "(launcher)", kind.launcher);
    for (const scenarios::PhaseWord& phase : kind.phases)
        add_row(explanation, "phase",
                phase.needs.empty() ? phase.name : fmt::format("{}, with {}", phase.name, phase.needs));
    for (const std::string& seam : kind.seams)
        add_row(explanation, "seam", fmt::format("{} — {}", seam, sim::meaning_of_place(seam)));
    for (const std::string& block : kind.blocks)
        add_row(explanation, "block", fmt::format("{} — {}", block, sim::meaning_of_place(block)));
    if (what == "workload" && kind.name == scenarios::python_workload)
        add_row(explanation, "(manual)", "docs/workloads/python.md: what is observed, checks, an example");
    if (kind.at_start) add_row(explanation, "(when)", "before the job starts, unless `when` says otherwise");
    return explanation;
}

}  // namespace deadrank::runners::commands
