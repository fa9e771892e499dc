// runners/find/properties.cpp — The table of properties, and how each is checked on one tried plan.
#include "runners/find/properties.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <set>

#include "results/judging/judge.h"
#include "runners/find/finds.h"

namespace deadrank::runners::find {

namespace {

using Ways = std::vector<std::string>;
using results::Finding;

constexpr std::string_view crashed = "detector_crashed";

std::string who_said(const Finding& finding) {
    return fmt::format("{} by {}", finding.symptom, finding.detector);
}

Ways ways_said(const std::vector<Finding>& findings, const auto& counts) {
    std::set<std::string> ways;
    for (const Finding& finding : findings) {
        if (finding.symptom != crashed && counts(finding)) ways.insert(who_said(finding));
    }
    return {ways.begin(), ways.end()};
}

Ways no_detector_crashes(const BenchResult& tried) {
    std::set<std::string> ways;
    for (const Played* played : {&tried.fault, tried.control.get()}) {
        for (const Finding& finding : played->findings) {
            if (finding.symptom == crashed) ways.insert(finding.detector);
        }
    }
    return {ways.begin(), ways.end()};
}

Ways healthy_is_quiet(const BenchResult& tried) {
    if (!tried.is_job()) return {};
    return ways_said(tried.control->findings, [](const Finding&) { return true; });
}

// A fault that was refused, or never triggered, proves nothing about the job.
bool took_place(const BenchResult& tried) { return tried.is_job() && tried.fault.record.truth.took_place(); }

Ways harm_is_noticed(const BenchResult& tried) {
    if (!took_place(tried) || tried.harm == Harm::none || !tried.fault.findings.empty()) return {};
    return {std::string(text_of(tried.harm))};
}

bool any_names_culprit(const BenchResult& tried, const std::vector<results::Blame>& culprits) {
    return std::any_of(tried.fault.findings.begin(), tried.fault.findings.end(), [&](const Finding& finding) {
        return naming_of(finding, culprits, tried.ranks_per_node) == Naming::culprit;
    });
}

Ways bystanders(const BenchResult& tried, bool alone) {
    if (!took_place(tried)) return {};
    const auto culprits = culprits_of(tried.fault.record.truth);
    if (any_names_culprit(tried, culprits) == alone) return {};
    return ways_said(tried.fault.findings, [&](const Finding& finding) {
        return naming_of(finding, culprits, tried.ranks_per_node) == Naming::bystander;
    });
}

Ways culprit_is_named(const BenchResult& tried) { return bystanders(tried, true); }
Ways nobody_else_is_blamed(const BenchResult& tried) { return bystanders(tried, false); }

Ways nothing_rings_too_early(const BenchResult& tried) {
    if (!took_place(tried)) return {};
    const results::Time begin = tried.fault.record.truth.first_fault();
    return ways_said(tried.fault.findings, [&](const Finding& finding) { return finding.at < begin; });
}

Ways expectation_is_met(const BenchResult& tried) {
    const auto& expect = tried.fault.plan.expect;
    if (!took_place(tried) || expect.symptom.empty()) return {};
    const auto judged = results::judge(tried.fault.plan, tried.fault.record, tried.fault.findings,
                                       &tried.control->record.evidence);
    if (judged.verdict != results::Verdict::fail) return {};
    return {fmt::format("{}, {} was due", results::name_of(judged.outcome), expect.symptom)};
}

bool all_taken_back(const BenchResult& tried) {
    std::size_t applied = 0, reverted = 0;
    for (const results::Mark& mark : tried.fault.record.truth.marks) {
        applied += mark.kind == results::MarkKind::applied ? 1 : 0;
        reverted += mark.kind == results::MarkKind::reverted ? 1 : 0;
    }
    return applied > 0 && reverted >= applied;
}

Ways guarded_job_ends(const BenchResult& tried) {
    const scenarios::Plan& plan = tried.fault.plan;
    const auto launcher = plan.cluster.find("launcher");
    const bool guarded = plan.number(plan.cluster, "watchdog") != 0 && launcher != plan.cluster.end() &&
                         launcher->second.text != "bare";
    if (!took_place(tried) || !guarded || tried.harm != Harm::hung) return {};
    return {"it hung with a watchdog and a launcher that watches"};
}

Ways job_outlives_its_faults(const BenchResult& tried) {
    if (!took_place(tried) || !all_taken_back(tried) || tried.harm != Harm::hung) return {};
    return {"it hung although every fault was taken back"};
}

Ways harms(const BenchResult& tried) { return {std::string(name_of(tried.harm))}; }

Ways some_name_the_culprit(const BenchResult& tried) {
    const auto culprits = culprits_of(tried.fault.record.truth);
    return ways_said(tried.fault.findings, [&](const Finding& finding) {
        return naming_of(finding, culprits, tried.ranks_per_node) == Naming::culprit;
    });
}

Ways some_fault_is_absorbed(const BenchResult& tried) {
    return took_place(tried) && tried.harm == Harm::none ? Ways{"absorbed"} : Ways{};
}

}  // namespace

std::string_view name_of(Mood mood) {
    static constexpr std::array<std::string_view, 3> names = {"always", "eventually", "sometimes"};
    return names.at(static_cast<std::size_t>(mood));
}

const std::vector<Property>& all_properties() {
    static const std::vector<Property> properties = {
        {"expectation_is_met", Mood::always, "what the plan's [expect] asks for comes true",
         expectation_is_met},
        {"no_detector_crashes", Mood::always, "no detector fails on any evidence", no_detector_crashes},
        {"healthy_is_quiet", Mood::always, "nothing rings in the same job without faults", healthy_is_quiet},
        {"harm_is_noticed", Mood::always, "when a fault harms the job, something rings", harm_is_noticed},
        {"culprit_is_named", Mood::always, "when somebody is blamed, a culprit is among them",
         culprit_is_named},
        {"nobody_else_is_blamed", Mood::always, "no rank other than the culprits is blamed",
         nobody_else_is_blamed},
        {"nothing_rings_too_early", Mood::always, "nothing rings before the first fault",
         nothing_rings_too_early},
        {"guarded_job_ends", Mood::eventually,
         "a job with a watchdog and a launcher that watches comes to an end", guarded_job_ends},
        {"job_outlives_its_faults", Mood::eventually,
         "once every fault is taken back, the job comes to an end", job_outlives_its_faults},
        {"harm", Mood::sometimes, "each kind of harm is done", harms},
        {"some_fault_is_absorbed", Mood::sometimes, "a fault does no harm", some_fault_is_absorbed},
        {"some_name_the_culprit", Mood::sometimes, "a detector names a culprit", some_name_the_culprit},
    };
    return properties;
}

const Property* find_property(std::string_view name) {
    for (const Property& property : all_properties()) {
        if (property.name == name) return &property;
    }
    return nullptr;
}

scenarios::Result<std::vector<const Property*>> properties_named(const std::vector<std::string>& names) {
    std::vector<const Property*> chosen;
    for (const std::string& name : names) {
        const Property* property = find_property(name);
        if (!property) {
            std::vector<std::string> known;
            for (const Property& one : all_properties()) known.push_back(one.name);
            const std::string near = scenarios::nearest(name, known);
            return scenarios::refuse(scenarios::ErrorCode::usage,
                                     fmt::format("there is no property '{}'", name),
                                     near.empty() ? fmt::format("the first is {}", known.front())
                                                  : fmt::format("did you mean '{}'?", near));
        }
        chosen.push_back(property);
    }
    if (!chosen.empty()) return chosen;
    for (const Property& property : all_properties()) {
        if (property.mood != Mood::sometimes) chosen.push_back(&property);
    }
    return chosen;
}

Signatures broken(const BenchResult& tried, const std::vector<const Property*>& properties) {
    Signatures signatures;
    for (const Property* property : properties) {
        if (property->mood == Mood::sometimes) continue;
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

}  // namespace deadrank::runners::find
