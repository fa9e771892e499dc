// runners/find/finds.cpp — How a find is named, when two are the same, and the scenario file that it is
// written to.
#include "runners/find/finds.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

#include "results/reports/style.h"
#include "runners/find/knob.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/format/scenario_file.h"
#include "scenarios/model/error.h"
#include "scenarios/model/toml_text.h"

namespace deadrank::runners::find {

Signatures broken(const TrialedPlan& tried, const std::vector<const Property*>& properties) {
    Signatures signatures;
    for (const Property* property : properties) {
        if (property->modality == Modality::sometimes) continue;
        for (std::string& how : property->look(tried)) signatures.push_back({property->name, std::move(how)});
    }
    return signatures;
}

Signature parse_signature(const std::string& text) {
    const std::size_t colon = text.find(": ");
    if (colon == std::string::npos) return {text, {}};
    return {text.substr(0, colon), text.substr(colon + 2)};
}

bool fits(const Signature& wanted, const Signature& seen) {
    return wanted.property == seen.property && (wanted.how.empty() || wanted.how == seen.how);
}

using results::Blame;
using Places = std::set<results::Rank>;

Places places_of(const Blame& blame, int ranks_per_node) {
    Places places(blame.ranks.begin(), blame.ranks.end());
    if (!places.empty()) return places;  // if ranks are named, the nodes only locate them
    for (const std::int32_t node : blame.nodes) {
        for (int local = 0; local < ranks_per_node; ++local) places.insert(node * ranks_per_node + local);
    }
    return places;
}

namespace {

bool overlap(const Places& one, const Places& other) {
    return std::any_of(one.begin(), one.end(), [&](results::Rank rank) { return other.count(rank) > 0; });
}

bool same_word(const std::string& said, const std::string& meant) { return !said.empty() && said == meant; }

bool same_name(const Blame& said, const Blame& meant) {
    return same_word(said.variable, meant.variable) || same_word(said.shard, meant.shard) ||
           (same_word(said.component, meant.component) &&
            said.component.find_first_of("0123456789") != std::string::npos);
}

bool points_at(const Blame& said, const Blame& meant, int ranks_per_node) {
    if (same_name(said, meant)) return true;
    const Places there = places_of(said, ranks_per_node);
    const Places culprit = places_of(meant, ranks_per_node);
    if (!there.empty() && !culprit.empty()) return overlap(there, culprit);
    return there.empty() && culprit.empty() && same_word(said.component, meant.component);
}

bool names_a_place(const Blame& blame) { return !blame.ranks.empty() || !blame.nodes.empty(); }

bool has_no_place(const Blame& blame) {
    return !names_a_place(blame) && blame.variable.empty() && blame.component.empty() && blame.shard.empty();
}

}  // namespace

std::vector<Blame> culprits_of(const results::Truth& truth) {
    std::vector<Blame> culprits;
    for (const results::Mark& mark : truth.marks) {
        if (mark.kind == results::MarkKind::applied) culprits.push_back(mark.blame);
    }
    return culprits;
}

Naming naming_of(const results::Finding& finding, const std::vector<Blame>& culprits, int ranks_per_node) {
    const auto points = [&](const Blame& meant) { return points_at(finding.blame, meant, ranks_per_node); };
    if (std::any_of(culprits.begin(), culprits.end(), points)) return Naming::culprit;
    const bool missable = std::none_of(culprits.begin(), culprits.end(), [](const Blame& one) {
        return has_no_place(one) || !names_a_place(one);
    });
    return names_a_place(finding.blame) && missable ? Naming::bystander : Naming::nobody;
}

// ── Shrinking checks only the signature's own property.

using scenarios::Plan;
using scenarios::Result;

namespace {

bool reports(const TrialedPlan& tried, const std::string& symptom) {
    const auto& findings = tried.fault.findings;
    return std::any_of(findings.begin(), findings.end(),
                       [&](const results::Finding& finding) { return finding.symptom == symptom; });
}

bool same_faults(const Plan& a, const Plan& b) {
    return a.cluster == b.cluster && a.workload_kind == b.workload_kind && a.workload == b.workload &&
           a.faults == b.faults;
}

}  // namespace

Result<Signatures> signatures_of(PlanTrials& trials, const Plan& plan,
                                 const std::vector<const Property*>& properties) {
    const auto tried = trials.try_plan(plan);
    if (!tried) return tl::unexpected(tried.error());
    return broken(*tried, properties);
}

Fails fails_alike(PlanTrials& trials, const Signature& signature) {
    if (signature.property == symptom_is_reported) {
        return [&trials, signature](const Plan& plan) {
            const auto tried = trials.try_plan(plan);
            return tried && reports(*tried, signature.how);
        };
    }
    const Property* property = find_property(signature.property);
    CHECK(property != nullptr);
    return [&trials, property, signature](const Plan& plan) {
        const auto seen = signatures_of(trials, plan, {property});
        return seen && std::any_of(seen->begin(), seen->end(),
                                   [&](const Signature& one) { return fits(signature, one); });
    };
}

std::optional<std::string> trouble_as_file(const std::string& text, const std::string& id, const Plan& plan,
                                           PlanTrials& trials, const Signature& signature,
                                           const scenarios::Taxonomy& taxonomy,
                                           const scenarios::Vocabulary& words) {
    const auto scenario = scenarios::parse_scenario(text, id + ".toml", taxonomy, words);
    if (!scenario) return "it does not load: " + scenario.error().text();
    const auto trial = scenarios::resolve(*scenario, plan.seed, {.levers = {"*"}, .workloads = {"*"}}, words);
    if (!trial) return "it cannot be resolved: " + trial.error().text();
    if (!same_faults(trial->fault, plan)) return "it resolves to another plan";
    if (!fails_alike(trials, signature)(trial->fault)) return "it does not fail alike";
    return std::nullopt;
}

// ── Tables in the order of docs/guides/scenarios.md.

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
    // The shape is always written: a reader wants to know it, and a default may change.
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
    if (fault.provokes) text += "provokes = true\n";
    if (fault.hardware) text += "hardware = true\n";
    return text;
}

std::string expect_table(const scenarios::Bug& bug, const scenarios::Expectation& expect) {
    std::string text = "\n[expect]\n";
    if (!expect.alternatives.empty())
        text += "symptom = " + toml_list(expect.symptoms()) + "\n";
    else if (expect.symptom != bug.symptom)
        text += "symptom = " + toml_text(expect.symptom) + "\n";
    if (!expect.blames.empty()) text += "blames = " + toml_list(words_of(expect.blames)) + "\n";
    if (!expect.ranks.empty()) text += fmt::format("ranks = [{}]\n", fmt::join(expect.ranks, ", "));
    if (expect.step) text += fmt::format("step = {}\n", *expect.step);
    text += "within = " + scenarios::toml_duration(expect.within) + "\n";
    if (!expect.also.empty()) text += "also = " + toml_list(expect.also) + "\n";
    if (expect.reaction != scenarios::WantedReaction::any)
        text += "reaction = " + toml_text(enum_name(expect.reaction)) + "\n";
    if (expect.recovers_within >= 0)
        text += "recovers_within = " + scenarios::toml_duration(expect.recovers_within) + "\n";
    if (!expect.unseen.empty()) text += "unseen = " + toml_text(expect.unseen) + "\n";
    if (!expect.because.empty()) text += "[expect.because]\n";
    for (const auto& [field, why] : expect.because) text += fmt::format("{} = {}\n", field, toml_text(why));
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
