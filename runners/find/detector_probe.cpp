// runners/find/detector_probe.cpp — A shot is seen when the detector names a culprit, or nobody; a bystander
// alone is a false alarm.
#include "runners/find/detector_probe.h"

#include <algorithm>
#include <optional>

#include "runners/find/bench.h"
#include "runners/find/naming.h"
#include "scenarios/format/closing.h"

namespace deadrank::runners::find {

namespace {

using scenarios::Plan;

Shot untold(std::string why) { return {.known = false, .trouble = std::move(why)}; }

bool counts(const results::Finding& finding, const std::string& symptom) {
    return symptom.empty() || finding.symptom == symptom;
}

const results::Finding* crash_in(const std::vector<results::Finding>& findings) {
    for (const results::Finding& finding : findings) {
        if (finding.symptom == "detector_crashed") return &finding;
    }
    return nullptr;
}

Shot shot_of(const Sight& sight, const std::string& symptom) {
    if (const auto* crash = crash_in(sight.fault.findings)) return untold(crash->says);
    if (!sight.is_job()) return untold("the job does not end even without the fault");
    const results::Truth& truth = sight.fault.record.truth;
    if (!truth.applied()) return untold("the fault found no moment");
    Shot shot{.harmed = sight.harm != Harm::none};
    const auto culprits = culprits_of(truth);
    for (const results::Finding& finding : sight.fault.findings) {
        if (!counts(finding, symptom)) continue;
        if (naming_of(finding, culprits, sight.ranks_per_node) == Naming::bystander) {
            shot.wrong = true;
            continue;
        }
        shot.seen = true;
        shot.after = std::min(shot.after, finding.at - truth.first_fault());
    }
    return shot;
}

}  // namespace

std::vector<Shot> DetectorProbe::all(const std::function<Plan(const Plan&)>& change, bool healthy) const {
    std::vector<std::optional<Shot>> shots(plans_.size());
    for_each_index(plans_.size(), workers_, [&](std::size_t index, Runner& runner) {
        const Plan plan = change(plans_[index]);
        if (const auto wrong = scenarios::contradiction(plan)) {
            shots[index] = untold(wrong->what);
            return;
        }
        Bench bench(runner, &detectors_, workers_.stop);
        if (healthy) {
            const auto played = bench.again(control_of(plan));
            if (!played) return void(shots[index] = untold(played.error().text()));
            if (const auto* crash = crash_in(played->findings))
                return void(shots[index] = untold(crash->says));
            const bool rang = std::any_of(played->findings.begin(), played->findings.end(),
                                          [&](const auto& one) { return counts(one, symptom_); });
            shots[index] = Shot{.seen = rang};
            return;
        }
        const auto sight = bench.look(plan);
        shots[index] = sight ? shot_of(*sight, symptom_) : untold(sight.error().text());
    });
    std::vector<Shot> known;
    for (auto& shot : shots) {
        if (shot) known.push_back(std::move(*shot));
    }
    return known;
}

std::vector<Shot> DetectorProbe::fire(std::int64_t magnitude) const {
    return all(
        [&](const Plan& plan) {
            Plan turned = plan;
            knob_.turn(turned, magnitude);
            return turned;
        },
        false);
}

std::vector<Shot> DetectorProbe::fire_healthy() const {
    return all([](const Plan& plan) { return plan; }, true);
}

}  // namespace deadrank::runners::find
