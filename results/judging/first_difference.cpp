// results/judging/first_difference.cpp — A step begins with the state of the random generators and the samples, has a loss,
// and ends with the parameters. What differs first in the first step that differs is the nearest to the cause.
#include "results/judging/first_difference.h"

#include <bit>
#include <fmt/core.h>
#include <map>
#include <optional>
#include <set>

#include "results/judging/given_ranks.h"
#include "results/record/event_names.h"

namespace deadrank::results {

namespace {

struct Step {
    std::optional<std::uint64_t> random_state, loss;
    std::multiset<std::string_view> samples;
    std::map<std::string_view, std::uint64_t> parameters;  // digests, by name
};

struct Life {
    std::map<std::int64_t, Step> steps;
    bool has_loaded = false;
};

// The last life of each rank.
std::map<Rank, Life> last_lives(const Evidence& evidence) {
    std::map<Rank, Life> lives;
    GivenRanks ranks(evidence);
    for (const Event& event : evidence.events()) {
        if (const auto* start = event.as<RankStart>()) {
            ranks.start(event.rank, *start);
            lives[ranks.of(event.rank)] = {};
            continue;
        }
        Life& life = lives[ranks.of(event.rank)];
        if (const auto* end = event.as<StepEnd>()) {
            life.steps[end->step].loss = std::bit_cast<std::uint64_t>(end->loss);
        } else if (const auto* digest = event.as<ParametersDigest>()) {
            if (evidence.text(digest->name) != DigestName::restored)
                life.steps[digest->step].parameters[evidence.text(digest->name)] = digest->digest;
        } else if (const auto* batch = event.as<DataBatch>()) {
            life.steps[batch->step].samples.insert(evidence.text(batch->samples));
        } else if (const auto* sample = event.as<ValueSample>()) {
            if (evidence.text(sample->name) == SampleName::random_state)
                life.steps[sample->step].random_state = std::bit_cast<std::uint64_t>(sample->value);
        } else if (const auto* load = event.as<CheckpointLoad>()) {
            life.has_loaded = life.has_loaded || load->result == Code::ok;
        }
    }
    return lives;
}

bool has_other_parameters(const Step& step, const Step& right) {
    for (const auto& [name, digest] : step.parameters) {
        const auto found = right.parameters.find(name);
        if (found != right.parameters.end() && found->second != digest) return true;
    }
    return false;
}

std::string what_differs(Rank rank, const Step& step, const Step& right) {
    const bool other_loss = step.loss && right.loss && step.loss != right.loss;
    if (!other_loss) {
        if (!has_other_parameters(step, right)) return "";
        return fmt::format(
            "rank {} had the right loss and changed its parameters otherwise, as with another state of the optimizer or "
            "another learning rate",
            rank);
    }
    if (!step.samples.empty() && !right.samples.empty() && step.samples != right.samples)
        return fmt::format("rank {} read other samples", rank);
    if (step.random_state && right.random_state && step.random_state != right.random_state)
        return fmt::format("the random generators of rank {} had another state", rank);
    return fmt::format("the loss of rank {}", rank);
}

}  // namespace

std::string first_difference_since_restart(const Evidence& run, const Evidence& control) {
    const std::map<Rank, Life> lives = last_lives(run), right = last_lives(control);
    std::map<std::int64_t, std::string> differing;  // of the first rank, by step
    for (const auto& [rank, life] : lives) {
        const auto wanted = right.find(rank);
        if (wanted == right.end() || life.steps.empty()) continue;
        // A program that loads a checkpoint and does not say which step it is of counts from 0 again.
        if (life.has_loaded && life.steps.begin()->first == 0) return "";
        for (const auto& [number, step] : life.steps) {
            const auto same = wanted->second.steps.find(number);
            if (same == wanted->second.steps.end()) continue;
            std::string differs = what_differs(rank, step, same->second);
            if (differs.empty()) continue;
            differing.try_emplace(number, std::move(differs));
            break;
        }
    }
    if (differing.empty()) return "";
    return fmt::format("; step {} is the first that differs: {}", differing.begin()->first, differing.begin()->second);
}

}  // namespace deadrank::results
