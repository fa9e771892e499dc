// runners/find/properties.cpp — The table of properties, and how each is checked on one tried plan.
#include "runners/find/properties.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <set>

#include "results/judging/judge.h"
#include "runners/find/finds.h"
#include "scenarios/model/kind_ids.h"

namespace deadrank::runners::find {

namespace {

using Ways = std::vector<std::string>;
using results::Finding;

std::string describe_finding(const Finding& finding) {
    return fmt::format("{} by {}", finding.symptom, finding.detector);
}

Ways collect_ways(const std::vector<Finding>& findings, const auto& counts) {
    std::set<std::string> ways;
    for (const Finding& finding : findings) {
        if (!finding.detector_failed && counts(finding)) ways.insert(describe_finding(finding));
    }
    return {ways.begin(), ways.end()};
}

Ways no_detector_crashes(const TrialedPlan& tried) {
    std::set<std::string> ways;
    for (const Played* played : {&tried.fault, tried.control.get()}) {
        for (const Finding& finding : played->findings) {
            if (finding.detector_failed) ways.insert(finding.detector);
        }
    }
    return {ways.begin(), ways.end()};
}

Ways healthy_is_quiet(const TrialedPlan& tried) {
    if (!tried.is_job()) return {};
    return collect_ways(tried.control->findings, [](const Finding&) { return true; });
}

// A fault that was refused, or never triggered, proves nothing about the job.
bool took_place(const TrialedPlan& tried) { return tried.is_job() && tried.fault.record.truth.took_place(); }

Ways harm_is_noticed(const TrialedPlan& tried) {
    if (!took_place(tried) || tried.harm == Harm::none || !tried.fault.findings.empty()) return {};
    return {std::string(text_of(tried.harm))};
}

bool any_names_culprit(const TrialedPlan& tried, const std::vector<results::Blame>& culprits) {
    return std::any_of(tried.fault.findings.begin(), tried.fault.findings.end(), [&](const Finding& finding) {
        return naming_of(finding, culprits, tried.ranks_per_node) == Naming::culprit;
    });
}

Ways bystanders(const TrialedPlan& tried, bool alone) {
    if (!took_place(tried)) return {};
    const auto culprits = culprits_of(tried.fault.record.truth);
    if (any_names_culprit(tried, culprits) == alone) return {};
    return collect_ways(tried.fault.findings, [&](const Finding& finding) {
        return naming_of(finding, culprits, tried.ranks_per_node) == Naming::bystander;
    });
}

Ways culprit_is_named(const TrialedPlan& tried) { return bystanders(tried, true); }
Ways nobody_else_is_blamed(const TrialedPlan& tried) { return bystanders(tried, false); }

Ways nothing_rings_too_early(const TrialedPlan& tried) {
    if (!took_place(tried)) return {};
    const results::Time begin = tried.fault.record.truth.first_fault();
    return collect_ways(tried.fault.findings, [&](const Finding& finding) { return finding.at < begin; });
}

Ways expectation_is_met(const TrialedPlan& tried) {
    const auto& expect = tried.fault.plan.expect;
    if (!took_place(tried) || expect.symptom.empty()) return {};
    const auto judged = results::judge(tried.fault.plan, tried.fault.record, tried.fault.findings,
                                       &tried.control->record.evidence);
    if (judged.verdict != results::Verdict::fail) return {};
    return {fmt::format("{}, {} was due", results::name_of(judged.outcome), expect.symptom_text())};
}

bool all_reverted(const TrialedPlan& tried) {
    std::size_t applied = 0, reverted = 0;
    for (const results::Mark& mark : tried.fault.record.truth.marks) {
        applied += mark.kind == results::MarkKind::applied ? 1 : 0;
        reverted += mark.kind == results::MarkKind::reverted ? 1 : 0;
    }
    return applied > 0 && reverted >= applied;
}

Ways guarded_job_ends(const TrialedPlan& tried) {
    const scenarios::Plan& plan = tried.fault.plan;
    const bool guarded =
        plan.number(plan.cluster, "watchdog") != 0 && launcher_of(plan) != scenarios::LauncherKind::bare;
    if (!took_place(tried) || !guarded || tried.harm != Harm::hung) return {};
    return {"it hung with a watchdog and a launcher that watches"};
}

Ways job_outlives_its_faults(const TrialedPlan& tried) {
    if (!took_place(tried) || !all_reverted(tried) || tried.harm != Harm::hung) return {};
    return {"it hung although every fault was taken back"};
}

// What training promises whose replicas come and go: each has a launcher that starts it again alone. The
// promises are about replicas that end, stop or are lost, not about those that compute or say what is wrong;
// and as long as one is left to which nothing was done, for the state may have been with it alone.
std::set<results::Rank> aimed_at(const TrialedPlan& tried) {
    std::set<results::Rank> ranks;
    for (const results::Blame& culprit : culprits_of(tried.fault.record.truth))
        ranks.merge(places_of(culprit, tried.ranks_per_node));
    return ranks;
}

bool promises_to_survive(const TrialedPlan& tried) {
    const scenarios::Plan& plan = tried.fault.plan;
    if (launcher_of(plan) != scenarios::LauncherKind::replicas || !took_place(tried)) return false;
    if (static_cast<std::int64_t>(aimed_at(tried).size()) >= plan.world_size()) return false;
    return std::all_of(plan.faults.begin(), plan.faults.end(), [](const scenarios::FaultSpec& fault) {
        return fault.kind == scenarios::FaultId::kill_rank || fault.kind == scenarios::FaultId::exit_rank ||
               fault.kind == scenarios::FaultId::pause_rank || fault.kind == scenarios::FaultId::lose_node;
    });
}

bool goes_back_to_checkpoints(const scenarios::Plan& plan) {
    const auto recovery = plan.workload.find("recovery");
    return recovery != plan.workload.end() && recovery->second.text == "checkpoint";
}

// A replica of its steps: the next one is due, unless it begins anew or was given another's state.
struct Progress {
    std::int64_t next = 0;
    bool under_way = false;
};

void follow(const results::Event& event, bool hit, Progress& at, std::set<std::string>& ways) {
    if (event.as<results::RankStart>()) at = {};
    if (event.as<results::StepBegin>()) at.under_way = true;
    if (const auto* healed = event.as<results::CheckpointLoad>()) {
        if (at.under_way && at.next > 0 && !hit && healed->step > at.next)
            ways.insert("a step counted for others, and not for a member that lived");
        if (healed->step < at.next) ways.insert("a member was given an older state than it had");
        at.next = healed->step;
    }
    if (const auto* end = event.as<results::StepEnd>()) {
        if (end->step > at.next) ways.insert("a member left a step out");
        if (end->step < at.next) ways.insert("a member made a step again that had counted");
        at.next = end->step + 1;
        at.under_way = false;
    }
}

Ways steps_count_for_all(const TrialedPlan& tried) {
    if (!promises_to_survive(tried) || goes_back_to_checkpoints(tried.fault.plan)) return {};
    const std::set<results::Rank> hit = aimed_at(tried);
    std::map<results::Rank, Progress> progress;
    std::set<std::string> ways;
    for (const results::Event& event : tried.fault.record.evidence.events()) {
        if (event.rank >= 0) follow(event, hit.contains(event.rank), progress[event.rank], ways);
    }
    return {ways.begin(), ways.end()};
}

// After each step, of each rank: what it held, the last time it said so.
std::map<std::int64_t, std::map<results::Rank, std::uint64_t>> held(const results::Evidence& evidence) {
    std::map<std::int64_t, std::map<results::Rank, std::uint64_t>> after;
    for (const results::Event* event : evidence.each<results::ParametersDigest>()) {
        const auto* digest = event->as<results::ParametersDigest>();
        after[digest->step][event->rank] = digest->digest;
    }
    return after;
}

Ways members_hold_the_same(const TrialedPlan& tried) {
    if (!promises_to_survive(tried)) return {};
    // Whenever it was said: a step that is made again after a loss gives what it gave before.
    std::map<std::int64_t, std::uint64_t> after;
    for (const results::Event* event : tried.fault.record.evidence.each<results::ParametersDigest>()) {
        const auto* digest = event->as<results::ParametersDigest>();
        if (after.try_emplace(digest->step, digest->digest).first->second != digest->digest)
            return {"two members hold different parameters"};
    }
    return {};
}

// Whoever ends has launches left, and a lost node a spare: all of them are to come back.
bool all_may_return(const scenarios::Plan& plan) {
    const auto lost = std::count_if(plan.faults.begin(), plan.faults.end(), [](const auto& fault) {
        return fault.kind == scenarios::FaultId::lose_node;
    });
    const auto spares = plan.cluster.find("spare_nodes");  // absent unless stated
    return std::ssize(plan.faults) <= plan.number(plan.cluster, "restarts_max") &&
           lost <= (spares == plan.cluster.end() ? 0 : spares->second.number);
}

// Nobody stood still for so long that the others went on without it to the end.
bool no_rank_paused(const scenarios::Plan& plan) {
    return std::none_of(plan.faults.begin(), plan.faults.end(),
                        [](const auto& fault) { return fault.kind == scenarios::FaultId::pause_rank; });
}

Ways ends_as_undisturbed(const TrialedPlan& tried) {
    if (!promises_to_survive(tried)) return {};
    const auto right = held(tried.control->record.evidence), seen = held(tried.fault.record.evidence);
    if (right.empty()) return {};
    const auto& [last, wanted] = *right.rbegin();
    const auto found = seen.find(last);
    const bool returns = all_may_return(tried.fault.plan) && no_rank_paused(tried.fault.plan);
    std::set<std::string> ways;
    for (const auto& [rank, digest] : wanted) {
        const bool there = found != seen.end() && found->second.contains(rank);
        if (there && found->second.at(rank) != digest) ways.insert("a replica ends with other parameters");
        if (!there && returns) ways.insert("a replica does not come back");
    }
    return {ways.begin(), ways.end()};
}

struct StepSamples {
    std::multiset<std::string> samples;
    std::map<results::Rank, int> begun;
    bool again = false;    // somebody made it twice: what the first try took does not count
    bool cut_off = false;  // somebody ended in it
};

std::map<std::int64_t, StepSamples> samples_of_steps(const results::Evidence& evidence) {
    std::map<std::int64_t, StepSamples> steps;
    std::map<results::Rank, std::int64_t> under_way;
    for (const results::Event& event : evidence.events()) {
        if (const auto* begin = event.as<results::StepBegin>()) {
            under_way[event.rank] = begin->step;
            StepSamples& step = steps[begin->step];
            step.again = ++step.begun[event.rank] > 1 || step.again;
        }
        if (event.as<results::StepEnd>()) under_way.erase(event.rank);
        if (event.as<results::RankExit>() && under_way.contains(event.rank))
            steps[under_way[event.rank]].cut_off = true;
        const auto* batch = event.as<results::DataBatch>();
        if (!batch) continue;
        std::string_view text = evidence.text(batch->samples);
        while (!text.empty()) {
            const std::string_view one = text.substr(0, text.find(','));
            steps[batch->step].samples.emplace(one);
            text.remove_prefix(std::min(text.size(), one.size() + 1));
        }
    }
    return steps;
}

// A replica that is killed after its word and before it showed its samples takes them with it, out of sight.
Ways samples_count_once(const TrialedPlan& tried) {
    if (!promises_to_survive(tried) || goes_back_to_checkpoints(tried.fault.plan)) return {};
    const auto right = samples_of_steps(tried.control->record.evidence);
    const auto seen = samples_of_steps(tried.fault.record.evidence);
    const bool all_seen = no_rank_paused(tried.fault.plan);
    std::set<std::string> ways;
    for (const auto& [step, wanted] : right) {
        const auto found = seen.find(step);
        if (found == seen.end()) continue;  // it was not made: another property's question
        for (const std::string& sample : wanted.samples) {
            const auto times = found->second.samples.count(sample);
            if (times > wanted.samples.count(sample)) ways.insert("a sample counts twice");
            const bool out_of_sight = found->second.cut_off && !found->second.again;
            if (times == 0 && all_seen && !out_of_sight) ways.insert("a sample is lost");
        }
    }
    return {ways.begin(), ways.end()};
}

// The time-outs that the plan states, twice for each fault, and the job as long as it was without them.
Ways goes_on_in_time(const TrialedPlan& tried) {
    if (!promises_to_survive(tried)) return {};
    const scenarios::Plan& plan = tried.fault.plan;
    const results::Time once{plan.number(plan.workload, "patience") +
                             plan.number(plan.workload, "step_patience")};
    const results::Time bound = 2 * once * (std::ssize(plan.faults) + 1) + 2 * tried.control->record.ended;
    results::Time last{0};
    for (const results::Event* event : tried.fault.record.evidence.each<results::StepEnd>()) {
        if (event->at - last > bound) return {"no step counted for longer than its time-outs allow"};
        last = event->at;
    }
    const bool failed = tried.harm == Harm::failed && all_may_return(plan);
    if (failed || tried.harm == Harm::hung || tried.fault.record.ended - last > bound)
        return {"it did not come to its end"};
    return {};
}

Ways no_restart_without_fault(const TrialedPlan& tried) {
    if (!tried.is_job()) return {};
    std::set<results::Rank> started;
    for (const results::Event* event : tried.control->record.evidence.each<results::RankStart>()) {
        if (!started.insert(event->rank).second) return {"a rank was started twice in a run without faults"};
    }
    return {};
}

Ways harms(const TrialedPlan& tried) { return {std::string(name_of(tried.harm))}; }

Ways some_name_the_culprit(const TrialedPlan& tried) {
    const auto culprits = culprits_of(tried.fault.record.truth);
    return collect_ways(tried.fault.findings, [&](const Finding& finding) {
        return naming_of(finding, culprits, tried.ranks_per_node) == Naming::culprit;
    });
}

Ways some_fault_is_absorbed(const TrialedPlan& tried) {
    return took_place(tried) && tried.harm == Harm::none ? Ways{"absorbed"} : Ways{};
}

}  // namespace

std::string_view name_of(Modality modality) {
    static constexpr std::array<std::string_view, 3> names = {"always", "eventually", "sometimes"};
    return names.at(static_cast<std::size_t>(modality));
}

const std::vector<Property>& all_properties() {
    static const std::vector<Property> properties = {
        {"expectation_is_met", Modality::always, "what the plan's [expect] asks for comes true",
         expectation_is_met},
        {"no_detector_crashes", Modality::always, "no detector fails on any evidence", no_detector_crashes},
        {"healthy_is_quiet", Modality::always, "nothing rings in the same job without faults",
         healthy_is_quiet},
        {"harm_is_noticed", Modality::always, "when a fault harms the job, something rings", harm_is_noticed},
        {"culprit_is_named", Modality::always, "when somebody is blamed, a culprit is among them",
         culprit_is_named},
        {"nobody_else_is_blamed", Modality::always, "no rank other than the culprits is blamed",
         nobody_else_is_blamed},
        {"nothing_rings_too_early", Modality::always, "nothing rings before the first fault",
         nothing_rings_too_early},
        {"guarded_job_ends", Modality::eventually,
         "a job with a watchdog and a launcher that watches comes to an end", guarded_job_ends},
        {"job_outlives_its_faults", Modality::eventually,
         "once every fault is taken back, the job comes to an end", job_outlives_its_faults},
        {"steps_count_for_all", Modality::always,
         "with replicas: a step counts for all members of its quorum or for none, and only once",
         steps_count_for_all},
        {"members_hold_the_same", Modality::always,
         "with replicas: all hold the same parameters after a step", members_hold_the_same},
        {"samples_count_once", Modality::always,
         "with replicas that heal from peers: no sample of a step is lost or counts twice",
         samples_count_once},
        {"ends_as_undisturbed", Modality::eventually,
         "with replicas: whoever was killed comes back, and all end as without the fault",
         ends_as_undisturbed},
        {"goes_on_in_time", Modality::eventually,
         "with replicas: steps go on after the time-outs of the plan", goes_on_in_time},
        {"no_restart_without_fault", Modality::always, "no rank is started twice without a fault",
         no_restart_without_fault},
        {"harm", Modality::sometimes, "each kind of harm is done", harms},
        {"some_fault_is_absorbed", Modality::sometimes, "a fault does no harm", some_fault_is_absorbed},
        {"some_name_the_culprit", Modality::sometimes, "a detector names a culprit", some_name_the_culprit},
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
        if (property.modality != Modality::sometimes) chosen.push_back(&property);
    }
    return chosen;
}

}  // namespace deadrank::runners::find
