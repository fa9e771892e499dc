// runners/find/probe.cpp — The magnitude from which a detector or an alert rule notices a fault.
#include "runners/find/probe.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "runners/find/finds.h"
#include "runners/find/harm.h"
#include "scenarios/format/closing.h"
#include "scenarios/model/chance.h"

namespace deadrank::runners::find {

// ── A shot counts as seen when the detector names a culprit or no rank; naming only a bystander is a false
// alarm.

namespace {

using scenarios::Plan;

Shot unknown_shot(std::string why) { return {.known = false, .trouble = std::move(why)}; }

bool counts(const results::Finding& finding, const std::string& symptom) {
    return symptom.empty() || finding.symptom == symptom;
}

const results::Finding* crash_in(const std::vector<results::Finding>& findings) {
    for (const results::Finding& finding : findings) {
        if (finding.detector_failed) return &finding;
    }
    return nullptr;
}

Shot shot_of(const TrialedPlan& tried, const std::string& symptom) {
    if (const auto* crash = crash_in(tried.fault.findings)) return unknown_shot(crash->says);
    if (!tried.is_job()) return unknown_shot("the job does not end even without the fault");
    const results::Truth& truth = tried.fault.record.truth;
    if (!truth.applied()) return unknown_shot("the fault never came: its `when` was never met");
    Shot shot{.harmed = tried.harm != Harm::none};
    const auto culprits = culprits_of(truth);
    for (const results::Finding& finding : tried.fault.findings) {
        if (!counts(finding, symptom)) continue;
        if (naming_of(finding, culprits, tried.ranks_per_node) == Naming::bystander) {
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
            shots[index] = unknown_shot(wrong->what);
            return;
        }
        PlanTrials trials(runner, &detectors_, workers_.stop);
        if (healthy) {
            const auto played = trials.repeat(control_of(plan));
            if (!played) return void(shots[index] = unknown_shot(played.error().text()));
            if (const auto* crash = crash_in(played->findings))
                return void(shots[index] = unknown_shot(crash->says));
            const bool rang = std::any_of(played->findings.begin(), played->findings.end(),
                                          [&](const auto& one) { return counts(one, symptom_); });
            shots[index] = Shot{.seen = rang};
            return;
        }
        const auto tried = trials.try_plan(plan);
        shots[index] = tried ? shot_of(*tried, symptom_) : unknown_shot(tried.error().text());
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

// ── Only the failure varies; the rule file stays as it is.

namespace {

using results::alerts::Cell;
using results::alerts::Row;
using results::exporters::Change;
using results::exporters::Incident;
using FailureSignature = results::exporters::Signature;
using results::exporters::Target;

void scale(std::optional<double>& number, double by) {
    if (number) *number *= by;
}

// A factor of 1 has no effect, so only its distance from 1 is scaled.
void scale_factor(std::optional<double>& number, double by) {
    if (number) *number = 1 + (*number - 1) * by;
}

FailureSignature with_strength(FailureSignature signature, double strength) {
    for (Change& change : signature.changes) {
        scale(change.add, strength);
        scale(change.rate, strength);
        scale(change.ramp, strength);
        scale(change.offset, strength);
        scale_factor(change.scale, strength);
        scale_factor(change.rate_scale, strength);
    }
    return signature;
}

// The usual target and its neighbours.
std::vector<Target> targets_from(const Target& first, std::int64_t count,
                                 const results::exporters::Cluster& cluster) {
    std::vector<Target> targets;
    const int width = first.gpu < 0 ? 1 : cluster.gpus_per_node;
    const int all = cluster.nodes * width;
    const int begin = first.node * width + std::max(first.gpu, 0);
    for (int i = 0; i < std::min<int>(static_cast<int>(count), all); ++i) {
        const int place = (begin + i) % all;
        targets.push_back({.node = place / width, .gpu = first.gpu < 0 ? -1 : place % width});
    }
    return targets;
}

}  // namespace

bool has_strength(const FailureSignature& failure) {
    return std::any_of(failure.changes.begin(), failure.changes.end(), [](const Change& change) {
        return change.add || change.rate || change.ramp || change.offset || change.scale || change.rate_scale;
    });
}

Incident AlertProbe::incident(std::int64_t magnitude, std::uint64_t seed) {
    const FailureSignature* signature = options_.failure;
    if (options_.knob == AlertKnob::strength) {
        auto& scaled = scaled_[magnitude];
        if (!scaled)
            scaled = std::make_unique<FailureSignature>(
                with_strength(*options_.failure, static_cast<double>(magnitude) / 1000));
        signature = scaled.get();
    }
    const auto& world = study_.world;
    const std::int64_t count = options_.knob == AlertKnob::targets ? magnitude : 1;
    const Target usual = usual_target(world.cluster, signature->scope);
    auto window = world.window;
    const auto eval = static_cast<std::uint64_t>(std::max(window.eval, 1.0) * 1000);
    window.fault_at += static_cast<double>(scenarios::Draw(seed, "probe", "moment").below(0, eval)) / 1000;
    FailureSignature timed = *signature;
    if (options_.knob == AlertKnob::lasts) timed.lasts = static_cast<double>(magnitude) / 1e9;
    Incident made = results::exporters::incident_of(timed, *options_.signatures,
                                                    targets_from(usual, count, world.cluster), window);
    // `timed` dies here, so everything that points to it must point to the lasting signature.
    made.signature = signature;
    for (auto& effect : made.effects) {
        if (effect.signature == &timed) effect.signature = signature;
    }
    made.id = fmt::format("{}_{}_{}", signature->id, magnitude, seed);
    return made;
}

Shot AlertProbe::shot_of(const Row& row) const {
    if (!row.trouble.empty()) return {.known = false, .trouble = row.trouble};
    Shot shot{.harmed = true};
    for (std::size_t i = 0; i < study_.rules.size(); ++i) {
        if (study_.rules[i].name != options_.alert || !study_.rules[i].is_alert) continue;
        const Cell& cell = row.cells[i];
        if (cell.verdict == results::alerts::AlertVerdict::unjudged)
            return {.known = false, .trouble = cell.says};
        shot.wrong = shot.wrong || cell.verdict == results::alerts::AlertVerdict::wrong_place;
        if (!cell.noticed()) continue;
        shot.seen = true;
        const auto after = results::Time(static_cast<std::int64_t>(cell.latency_low * 1e9));
        shot.after = std::min(shot.after, after);
    }
    return shot;
}

std::vector<Shot> AlertProbe::fire(std::int64_t magnitude, const std::vector<std::uint64_t>& seeds) {
    std::vector<Incident> incidents;
    for (const std::uint64_t seed : seeds) incidents.push_back(incident(magnitude, seed));
    study_.rows.clear();
    study_.healthy.clear();
    std::vector<Shot> shots;
    const auto done =
        results::alerts::conduct(study_, incidents, player_, *options_.signatures, options_.study);
    if (!done) return std::vector<Shot>(seeds.size(), Shot{.known = false, .trouble = done.error().text()});
    for (const Row& row : study_.rows) shots.push_back(shot_of(row));
    return shots;
}

std::vector<Shot> AlertProbe::fire_healthy() {
    study_.rows.clear();
    study_.healthy.clear();
    const auto done = results::alerts::conduct(study_, {}, player_, *options_.signatures, options_.study);
    if (!done) return {{.known = false, .trouble = done.error().text()}};
    Shot shot;
    for (std::size_t i = 0; i < study_.rules.size(); ++i) {
        using results::alerts::AlertVerdict;
        if (study_.rules[i].name != options_.alert) continue;
        const AlertVerdict verdict = study_.healthy[i].verdict;
        shot.seen = verdict == AlertVerdict::false_alarm || verdict == AlertVerdict::background;
    }
    return {shot};
}

}  // namespace deadrank::runners::find
