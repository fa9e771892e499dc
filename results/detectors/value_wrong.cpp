// results/detectors/value_wrong.cpp — A logged quantity is not what it should be. If the job computes a
// definition beside a value, the first step at which they differ is reported. Others have none: a learning
// rate is wrong if a rank departs from its peers, or if all hold another constant than the configured one; a
// seed, if ranks with different samples share it; any value that peers held alike while it changed, if they
// no longer do.
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "results/analysis/calls.h"
#include "results/analysis/findings.h"
#include "results/analysis/meetings.h"
#include "results/analysis/value_causes.h"
#include "results/detectors/detector.h"
#include "results/detectors/shared.h"
#include "results/record/event_names.h"
#include "results/record/words.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::detectors {

using scenarios::Cause;
using scenarios::Symptom;

using namespace analysis;

namespace {

constexpr std::size_t steps_to_call_it_constant = 3;
constexpr std::size_t alike_steps_min = 3;  // in which peers held one value, and another one in each
constexpr double rounding = 0.01;           // logs and fixed-point numbers keep few digits

using ByRank = std::map<Rank, const Event*>;
using BySteps = std::map<std::int64_t, ByRank>;

// The values of this name in the first attempt, by step.
BySteps logged(const Evidence& evidence, std::string_view name) {
    const Lives& lives = evidence.facts<Lives>();
    BySteps steps;
    for (const Event* event : evidence.each<ValueSample>()) {
        const auto* sample = event->as<ValueSample>();
        if (evidence.text(sample->name) == name && lives.attempt_at(event->at) == 0)
            steps[sample->step].try_emplace(event->rank, event);
    }
    return steps;
}

double value_of(const Event& event) { return event.as<ValueSample>()->value; }

Finding wrong_value(const Evidence& evidence, std::vector<Rank> ranks, const Event& event,
                    std::string_view name, std::string says) {
    Finding finding{.symptom = id_of(Symptom::wrong_intermediate_value),
                    .blame = blame_ranks(evidence.facts<Lives>(), std::move(ranks)),
                    .at = event.at,
                    .says = std::move(says)};
    finding.blame.step = event.as<ValueSample>()->step;
    finding.blame.variable = name;
    return finding;
}

// The ranks that differ from the value of more than half, or, in a tie, from the value that all had before.
std::vector<Rank> find_minority(const ByRank& values, std::optional<double>& most) {
    std::map<double, std::size_t> counts;
    for (const auto& [rank, event] : values) ++counts[value_of(*event)];
    for (const auto& [value, count] : counts) {
        if (2 * count > values.size()) most = value;
    }
    if (!most || !counts.contains(*most)) return {};
    std::vector<Rank> odd;
    for (const auto& [rank, event] : values) {
        if (value_of(*event) != *most) odd.push_back(rank);
    }
    return odd;
}

// Ranks that once had their peers' rate and no longer do. A rank that differed from the start may have other
// parameters.
std::optional<Finding> rate_unlike_its_peers(const Evidence& evidence, const BySteps& rates) {
    std::set<Rank> alike;
    std::optional<double> most;
    for (const auto& [step, values] : rates) {
        std::vector<Rank> odd = find_minority(values, most);
        const std::set<Rank> left(odd.begin(), odd.end());
        std::erase_if(odd, [&](Rank rank) { return !alike.contains(rank); });
        if (!odd.empty()) {
            const Event& first = *values.at(odd.front());
            return wrong_value(
                evidence, odd, first, "learning_rate",
                fmt::format("learning_rate of {} is {} in step {}, and {} on the others", ranks_text(odd),
                            number_text(value_of(first), *most), step, number_text(*most, value_of(first))));
        }
        for (const auto& [rank, event] : values) {
            if (!left.contains(rank)) alike.insert(rank);
        }
    }
    return std::nullopt;
}

// The simulator's programs count in billionths.
std::optional<double> configured_rate(const Evidence& evidence) {
    std::set<double> rates;
    for (const Event* event : evidence.each<RankConfig>()) {
        const auto* config = event->as<RankConfig>();
        const std::string_view name = evidence.text(config->name);
        if (name != ConfigName::learning_rate && name != ConfigName::learning_rate_ppb) continue;
        const double rate = std::atof(std::string(evidence.text(config->value)).c_str());
        rates.insert(name == ConfigName::learning_rate ? rate : rate / 1e9);
    }
    if (rates.size() != 1) return std::nullopt;
    return *rates.begin();
}

// All ranks hold one constant, and the configuration says another. A rate that moves follows a schedule,
// which the evidence does not show.
std::optional<Finding> rate_unlike_its_configuration(const Evidence& evidence, const BySteps& rates) {
    const auto configured = configured_rate(evidence);
    if (!configured || rates.size() < steps_to_call_it_constant) return std::nullopt;
    const Event& first = *rates.begin()->second.begin()->second;
    std::vector<Rank> ranks;
    const Event* last = nullptr;
    std::size_t seen = 0;
    for (const auto& [step, values] : rates) {
        for (const auto& [rank, event] : values) {
            if (value_of(*event) != value_of(first)) return std::nullopt;
            if (seen == 0) ranks.push_back(rank);
            if (seen < steps_to_call_it_constant) last = event;
        }
        ++seen;
    }
    if (std::abs(value_of(first) - *configured) <= rounding * std::abs(*configured)) return std::nullopt;
    Finding finding = wrong_value(
        evidence, ranks, first, "learning_rate",
        fmt::format("learning_rate is {} on all ranks, step after step, where the "
                    "configuration says {}",
                    number_text(value_of(first), *configured), number_text(*configured, value_of(first))));
    finding.at = last->at;
    return finding;
}

// Ranks that train on different samples draw from one random stream.
std::optional<Finding> find_equal_seeds(const Evidence& evidence) {
    const BySteps seeds = logged(evidence, "dropout.seed");
    if (seeds.empty()) return std::nullopt;
    const auto& [step, values] = *seeds.begin();
    std::map<Rank, std::pair<std::int64_t, TextId>> samples;
    for (const Event* event : evidence.each<DataBatch>()) {
        const auto* batch = event->as<DataBatch>();
        if (batch->step == step) samples.try_emplace(event->rank, batch->first, batch->samples);
    }
    std::map<double, std::vector<Rank>> by_seed;
    for (const auto& [rank, event] : values) by_seed[value_of(*event)].push_back(rank);
    for (const auto& [seed, ranks] : by_seed) {
        std::set<std::pair<std::int64_t, TextId>> different;
        for (const Rank rank : ranks) {
            if (const auto found = samples.find(rank); found != samples.end())
                different.insert(found->second);
        }
        if (different.size() < 2) continue;
        const Event& last = *values.at(ranks.back());
        return wrong_value(
            evidence, ranks, last, "dropout.seed",
            fmt::format("{} train on different samples and draw with one seed, {}", ranks_text(ranks), seed));
    }
    return std::nullopt;
}

// A measure of one's own time, memory or work differs between ranks though it may have been the same for a
// while. The loss is replicas' own as often as it is everybody's.
bool is_rank_specific(std::string_view name) {
    return has_any(name, {"time",       "wait",   "second", "_ms",     "per_",   "/s",    "tps",
                          "throughput", "memory", "bytes",  "latency", "length", "token", "sample",
                          "batch",      "count",  "queue",  "retr",    "loss",   "seed",  "rank"});
}

using ValuesByName = std::map<std::string, BySteps>;

// What ranks of one role reported by one name in the first attempt, and the norm of the gradient.
ValuesByName collect_role_values(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    const Roles& roles = evidence.facts<Roles>();
    ValuesByName reported;
    const auto add = [&](const Event& event, std::string_view name, std::int64_t step) {
        if (event.rank < 0 || lives.attempt_at(event.at) > 0) return;
        reported[fmt::format("{} {}", roles.of(event.rank), name)][step].try_emplace(event.rank, &event);
    };
    for (const Event* event : evidence.each<ValueSample>()) {
        const auto* sample = event->as<ValueSample>();
        const std::string name = lowered(evidence.text(sample->name));
        const bool may_differ =
            name == SampleName::learning_rate || name == SampleName::random_state || is_rank_specific(name);
        if (std::isnan(sample->expected) && !may_differ)
            add(*event, evidence.text(sample->name), sample->step);
    }
    for (const Event* event : evidence.each<StepEnd>()) add(*event, "grad_norm", event->as<StepEnd>()->step);
    return reported;
}

double reported_value(const Event& event) {
    const auto* end = event.as<StepEnd>();
    return end ? end->gradient_norm : value_of(event);
}

// The first step in which peers do not hold one value, after they did in several and it was another one each
// time. What differs from the start, or never changes, may be a rank's own. Null if all is well.
const std::pair<const std::int64_t, ByRank>* find_first_split(const BySteps& steps) {
    std::size_t peers = 0;
    for (const auto& [step, values] : steps) peers = std::max(peers, values.size());
    std::set<double> seen;
    for (const auto& one : steps) {
        const ByRank& values = one.second;
        if (values.size() < std::max<std::size_t>(peers, 2)) continue;
        const double first = reported_value(*values.begin()->second);
        const bool alike = std::all_of(values.begin(), values.end(), [&](const auto& entry) {
            const double value = reported_value(*entry.second);
            return value == first || (std::isnan(value) && std::isnan(first));
        });
        if (!alike) return seen.size() >= alike_steps_min ? &one : nullptr;
        if (!std::isnan(first)) seen.insert(first);
    }
    return nullptr;
}

std::optional<Finding> find_diverging_peers(const Evidence& evidence) {
    const ValuesByName reported = collect_role_values(evidence);
    const std::pair<const std::int64_t, ByRank>* divergence = nullptr;
    std::string_view name;
    for (const auto& [key, steps] : reported) {
        const auto* here = find_first_split(steps);
        if (!here || (divergence && divergence->first <= here->first)) continue;
        divergence = here;
        name = std::string_view(key).substr(key.find(' ') + 1);
    }
    if (!divergence) return std::nullopt;
    std::map<double, std::vector<Rank>> by_value;
    Time at{0};
    for (const auto& [rank, event] : divergence->second) {
        by_value[reported_value(*event)].push_back(rank);
        at = std::max(at, event->at);
    }
    std::vector<Rank> blamed;
    for (const auto& [value, ranks] : by_value)
        if (2 * ranks.size() <= divergence->second.size())
            blamed.insert(blamed.end(), ranks.begin(), ranks.end());
    std::vector<std::vector<Rank>> parties;
    for (const auto& [value, ranks] : by_value) parties.push_back(ranks);
    const double one = by_value.begin()->first, other = by_value.rbegin()->first;
    Finding finding{
        .symptom = id_of(Symptom::wrong_intermediate_value),
        .blame = blame_ranks(evidence.facts<Lives>(), std::move(blamed)),
        .at = at,
        .says = fmt::format("{} differs between ranks in step {}, from {} to {}, where all held one "
                            "value in each step before; {}",
                            name, divergence->first, number_text(one, other), number_text(other, one),
                            parties_text(evidence, std::move(parties))),
        .causes = {id_of(Cause::gradient_scaling_or_reduction_error),
                   id_of(Cause::stale_or_missing_state_update)}};
    finding.blame.step = divergence->first;
    finding.blame.variable = name;
    return finding;
}

// The group whose size is the factor by which all these numbers are wrong; null if there is none.
const Communicator* group_of_the_factor(const Evidence& evidence, const Finding& finding) {
    std::map<std::int64_t, const Communicator*> groups;
    std::vector<std::int64_t> sizes;
    for (const Communicator& comm : evidence.facts<Calls>().communicators()) {
        const auto size = std::ssize(comm.processes);
        if (groups.try_emplace(size, &comm).second) sizes.push_back(size);
    }
    std::optional<std::int64_t> factor;
    for (const WrongValue& wrong : find_wrong_values(evidence)) {
        const auto* sample = wrong.event->as<ValueSample>();
        if (wrong.origin != Origin::definition || wrong.name != finding.blame.variable ||
            sample->step != finding.blame.step)
            continue;
        const auto here = size_between(sample->value, sample->expected, sizes);
        if (!here || (factor && *factor != *here)) return nullptr;
        factor = here;
    }
    return factor ? groups.at(*factor) : nullptr;
}

Finding as_wrong_intermediate_value(const Evidence& evidence, Finding finding) {
    finding.symptom = id_of(Symptom::wrong_intermediate_value);
    const Communicator* group = group_of_the_factor(evidence, finding);
    if (group)
        finding.says += fmt::format("; the factor between them is {}, and {} has as many ranks",
                                    group->processes.size(), group->name);
    finding.causes = list_value_causes(finding.blame.variable, group != nullptr);
    return finding;
}

// Whether an evaluation's wrong count of samples was reported in that step before this value. Of two numbers
// that differ from what they should be the first that was reported stands for both.
bool counted_wrong_before(const Evidence& evidence, const Finding& finding) {
    for (const Event* event : evidence.each<ValueSample>()) {
        const auto* sample = event->as<ValueSample>();
        if (sample->step != finding.blame.step || sample->value == sample->expected) continue;
        const std::string_view name = evidence.text(sample->name);
        if (name.ends_with(finding.blame.variable) && !std::isnan(sample->expected)) return false;
        if (name != SampleName::evaluation_samples) continue;
        const Findings samples = sample_coverage(evidence);
        return !samples.empty() && samples.front().blame.step == finding.blame.step;
    }
    return false;
}

}  // namespace

Findings value_wrong(const Evidence& evidence) {
    if (auto finding = find_first_wrong_value(evidence, Origin::definition)) {
        if (counted_wrong_before(evidence, *finding)) return {};
        return {as_wrong_intermediate_value(evidence, std::move(*finding))};
    }
    const BySteps rates = logged(evidence, "learning_rate");
    auto rate = rate_unlike_its_peers(evidence, rates);
    if (!rate) rate = rate_unlike_its_configuration(evidence, rates);
    if (rate) {
        rate->causes = {id_of(Cause::stale_or_missing_state_update),
                        id_of(Cause::misconfigured_resource_or_distributed_settings)};
        return {*rate};
    }
    auto seeds = find_equal_seeds(evidence);
    if (!seeds) {
        const auto divergence = find_diverging_peers(evidence);
        return divergence ? Findings{*divergence} : Findings{};
    }
    seeds->causes = {id_of(Cause::rng_or_seed_coordination_error)};
    return {*seeds};
}

extern const DetectorRow value_wrong_row{
    .name = "value_wrong", .reports = {id_of(Symptom::wrong_intermediate_value)}, .examine = value_wrong};

}  // namespace deadrank::results::detectors
