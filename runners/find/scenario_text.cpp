// runners/find/scenario_text.cpp — Tables in the order of scenarios/README.md.
#include "runners/find/scenario_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "results/text/style.h"
#include "runners/find/defaults.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/model/text.h"

namespace deadrank::runners::find {

namespace {

using scenarios::FaultSpec;
using scenarios::Plan;
using scenarios::toml_list;
using scenarios::toml_text;

std::string comment(const std::string& story) {
    constexpr std::size_t columns = 108;
    std::string text;
    for (const std::string& line : results::reports::wrap(story, columns)) text += "# " + line + "\n";
    return text;
}

std::string bug_table(const scenarios::Bug& bug) {
    std::string text =
        fmt::format("[bug]\nstage = {}\nsymptom = {}\ncause = {}\nfix = {}\n", toml_text(bug.stage),
                    toml_text(bug.symptom), toml_text(bug.cause), toml_text(bug.fix));
    if (!bug.replays.empty()) text += "replays = " + toml_list(bug.replays) + "\n";
    return text;
}

std::string cluster_table(const Plan& plan) {
    scenarios::Values values = stated(plan.cluster, scenarios::cluster_parameters());
    // The shape is always said: a reader wants to know it, and a default may change.
    for (const char* name : {"nodes", "gpus_per_node"}) values[name] = plan.cluster.at(name);
    return "\n[cluster]\n" + scenarios::toml_rows(values);
}

std::string workload_table(const Plan& plan, const scenarios::Vocabulary& words) {
    scenarios::Values values = plan.workload;
    if (const auto* kind = words.workload(plan.workload_kind)) values = stated(values, kind->parameters);
    if (plan.workload.count("steps") > 0) values["steps"] = plan.workload.at("steps");
    return fmt::format("\n[workload]\nkind = {}\n{}", toml_text(plan.workload_kind),
                       scenarios::toml_rows(values));
}

std::string fault_table(const FaultSpec& fault, const scenarios::Vocabulary& words) {
    const auto* kind = words.fault(fault.kind);
    const scenarios::Values values = kind ? stated(fault.parameters, kind->parameters) : fault.parameters;
    std::string text =
        fmt::format("\n[[fault]]\nkind = {}\n{}", toml_text(fault.kind), scenarios::toml_rows(values));
    scenarios::Trigger unsaid;
    unsaid.at_start = kind && kind->at_start;
    if (!(fault.when == unsaid)) text += "when = " + scenarios::toml_trigger(fault.when) + "\n";
    return text;
}

std::string expect_table(const scenarios::Bug& bug, const scenarios::Expectation& expect) {
    std::string text = "\n[expect]\n";
    if (expect.symptom != bug.symptom) text += "symptom = " + toml_text(expect.symptom) + "\n";
    if (!expect.blames.empty()) text += "blames = " + toml_list(expect.blames) + "\n";
    if (!expect.ranks.empty()) text += fmt::format("ranks = [{}]\n", fmt::join(expect.ranks, ", "));
    if (expect.step) text += fmt::format("step = {}\n", *expect.step);
    text += "within = " + scenarios::toml_duration(expect.within) + "\n";
    if (!expect.also.empty()) text += "also = " + toml_list(expect.also) + "\n";
    if (expect.reaction != "any") text += "reaction = " + toml_text(expect.reaction) + "\n";
    if (expect.recovers_within >= 0)
        text += "recovers_within = " + scenarios::toml_duration(expect.recovers_within) + "\n";
    if (!expect.unseen.empty()) text += "unseen = " + toml_text(expect.unseen) + "\n";
    return text;
}

}  // namespace

std::string scenario_text(const Plan& plan, const scenarios::Vocabulary& words, const std::string& story) {
    std::string text = comment(story) + "format = 1\n";
    if (!plan.backends.empty()) text += "backends = " + toml_list(plan.backends) + "\n";
    text += "\n" + bug_table(plan.bug) + cluster_table(plan) + workload_table(plan, words);
    for (const FaultSpec& fault : plan.faults) text += fault_table(fault, words);
    return text + expect_table(plan.bug, plan.expect);
}

}  // namespace deadrank::runners::find
