// results/detectors/value_wrong.cpp — A logged quantity is not what it should be. If the job computes a
// definition beside a value, the first step at which they differ is reported. Learning rates and seeds have
// none: a rate is wrong if a rank departs from its peers, or if all hold another constant than the configured
// one; a seed, if ranks with different samples share it.
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>

#include "results/detectors/detector.h"
#include "results/facts/findings.h"
#include "results/text/words.h"

namespace deadrank::results::detectors {

namespace {

constexpr std::size_t steps_to_call_it_constant = 3;
constexpr double rounding = 0.01;  // logs and fixed-point numbers keep few digits

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
    Finding finding{.symptom = "wrong_intermediate_value",
                    .blame = blame_ranks(evidence.facts<Lives>(), std::move(ranks)),
                    .at = event.at,
                    .says = std::move(says)};
    finding.blame.step = event.as<ValueSample>()->step;
    finding.blame.variable = name;
    return finding;
}

// The ranks that differ from the value of more than half, or, in a tie, from the value that all had before.
std::vector<Rank> apart_from_most(const ByRank& values, std::optional<double>& most) {
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
        std::vector<Rank> odd = apart_from_most(values, most);
        const std::set<Rank> left(odd.begin(), odd.end());
        std::erase_if(odd, [&](Rank rank) { return !alike.contains(rank); });
        if (!odd.empty()) {
            const Event& first = *values.at(odd.front());
            return wrong_value(evidence, odd, first, "learning_rate",
                               fmt::format("learning_rate of {} is {} in step {}, and {} on the others",
                                           ranks_text(odd), value_of(first), step, *most));
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
        if (name != "learning_rate" && name != "learning_rate_ppb") continue;
        const double rate = std::atof(std::string(evidence.text(config->value)).c_str());
        rates.insert(name == "learning_rate" ? rate : rate / 1e9);
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
    Finding finding = wrong_value(evidence, ranks, first, "learning_rate",
                                  fmt::format("learning_rate is {} on all ranks, step after step, where the "
                                              "configuration says {}",
                                              value_of(first), *configured));
    finding.at = last->at;
    return finding;
}

// Ranks that train on different samples draw from one random stream.
std::optional<Finding> seeds_that_coincide(const Evidence& evidence) {
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

}  // namespace

Findings value_wrong(const Evidence& evidence) {
    if (auto finding = first_wrong(evidence, Origin::definition)) {
        finding->symptom = "wrong_intermediate_value";
        finding->causes = {"stale_or_missing_state_update", "gradient_scaling_or_reduction_error",
                           "stream_or_buffer_race"};
        return {*finding};
    }
    const BySteps rates = logged(evidence, "learning_rate");
    auto rate = rate_unlike_its_peers(evidence, rates);
    if (!rate) rate = rate_unlike_its_configuration(evidence, rates);
    if (rate) {
        rate->causes = {"stale_or_missing_state_update", "misconfigured_resource_or_distributed_settings"};
        return {*rate};
    }
    auto seeds = seeds_that_coincide(evidence);
    if (!seeds) return {};
    seeds->causes = {"rng_or_seed_coordination_error"};
    return {*seeds};
}

extern const DetectorRow value_wrong_row{
    .name = "value_wrong", .reports = {"wrong_intermediate_value"}, .examine = value_wrong};

}  // namespace deadrank::results::detectors
