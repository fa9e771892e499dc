// results/detectors/unexpected_parallelization.cpp — Ranks train alone, or in smaller groups than configured.
// The launcher gives the world size; a rank that finished set-up with a smaller one works alone. So does a
// group smaller than configured, and so do replicas that never call each other, and those who train on
// without processes that left before the first step.
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>

#include "results/analysis/calls.h"
#include "results/analysis/findings.h"
#include "results/analysis/meetings.h"
#include "results/detectors/detector.h"
#include "results/record/event_names.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::detectors {

using scenarios::Cause;
using scenarios::Symptom;

using namespace analysis;

namespace {

Finding parallelization_finding(const Evidence& evidence, std::vector<Rank> ranks, Time at, std::string says,
                                std::string variable, std::string cause) {
    Finding found{.symptom = id_of(Symptom::unexpected_parallelization),
                  .blame = blame_ranks(evidence.facts<Lives>(), std::move(ranks)),
                  .at = at,
                  .says = std::move(says),
                  .causes = {std::move(cause), id_of(Cause::misconfigured_environment_variable)}};
    found.blame.variable = std::move(variable);
    return found;
}

std::vector<Finding> find_single_rank_worlds(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    const std::int32_t started = evidence.world_size();
    std::map<std::pair<int, Rank>, const Event*> entered;
    for (const Event* event : evidence.each<RendezvousEnter>()) {
        entered[{lives.attempt_at(event->at), event->rank}] = event;
    }
    std::vector<Rank> alone;
    Time at = never;
    for (const Event* event : evidence.each<RendezvousLeave>()) {
        const auto enter = entered.find({lives.attempt_at(event->at), event->rank});
        if (event->as<RendezvousLeave>()->result != Code::ok || enter == entered.end()) continue;
        if (started < 2 || enter->second->as<RendezvousEnter>()->expected != 1) continue;
        alone.push_back(event->rank);
        at = std::min(at, event->at);
    }
    if (alone.empty()) return {};
    return {
        parallelization_finding(evidence, alone, at,
                                fmt::format("{} each train in a world of one where {} processes were started",
                                            ranks_text(sorted(alone)), started),
                                "WORLD_SIZE", id_of(Cause::misconfigured_environment_variable))};
}

// "tp_size" of rank.config against the size of communicator "tp".
std::vector<Finding> small_groups(const Evidence& evidence) {
    const Calls& calls = evidence.facts<Calls>();
    std::map<std::pair<Rank, std::string>, std::int32_t> configured;
    for (const Event* event : evidence.each<RankConfig>()) {
        const auto* config = event->as<RankConfig>();
        const std::string_view name = evidence.text(config->name), value = evidence.text(config->value);
        if (!name.ends_with("_size") || name == ConfigName::world_size) continue;
        std::int32_t size = 0;
        std::from_chars(value.data(), value.data() + value.size(), size);
        configured[{event->rank, std::string(name.substr(0, name.size() - 5))}] = size;
    }
    std::vector<Rank> ranks;
    Time at = never;
    std::string says, variable;
    for (const Communicator& comm : calls.communicators()) {
        for (const Joining& joining : comm.joinings) {
            const auto wanted = configured.find({joining.process, std::string(comm.name)});
            if (wanted == configured.end() || joining.what->size >= wanted->second || joining.left == never)
                continue;
            ranks.push_back(joining.process);
            if (joining.entered >= at) continue;
            at = joining.entered;
            variable = std::string(comm.name) + "_size";
            says = fmt::format("rank {} joined a group {} of {} where {} were configured", joining.process,
                               comm.name, joining.what->size, wanted->second);
        }
    }
    if (ranks.empty()) return {};
    return {parallelization_finding(evidence, ranks, at, says, variable,
                                    id_of(Cause::misconfigured_resource_or_distributed_settings))};
}

std::vector<Finding> find_isolated_groups(const Evidence& evidence) {
    const auto lone = find_isolated_replicas(evidence);
    if (!lone) return {};
    Finding found = parallelization_finding(
        evidence, lone->ranks, lone->at,
        fmt::format("{} say to be replicas ({}) and train in {} parts that share no call{}",
                    ranks_text(lone->ranks), lone->group, lone->parts,
                    lone->worlds ? ": each believes in a world of one" : ""),
        lone->worlds ? "WORLD_SIZE" : "",
        lone->worlds ? id_of(Cause::misconfigured_environment_variable)
                     : id_of(Cause::misconfigured_resource_or_distributed_settings));
    found.blame.step = lone->step;
    return {std::move(found)};
}

// A process that left without an error before its first step, while others of its start went on to train
// without it: they take themselves for the whole world.
std::vector<Finding> left_before_training(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    const int attempt = lives.attempts() - 1;
    if (attempt < 0) return {};
    std::vector<Rank> left;
    Time last_left{0};
    std::size_t training = 0, failed = 0;
    for (const Life& life : lives.of(attempt)) {
        if (!life.start) continue;
        training += life.finished >= 0 ? 1 : 0;
        failed += life.failed() ? 1 : 0;
        if (life.ended == never || life.failed() || life.step >= 0) continue;
        left.push_back(life.process);
        last_left = std::max(last_left, life.ended);
    }
    // Where one failed, the others may have been asked to end.
    if (left.empty() || training == 0 || failed > 0) return {};
    Time first_end = never;
    for (const Event* event : evidence.each<StepEnd>()) {
        if (lives.attempt_at(event->at) == attempt) first_end = std::min(first_end, event->at);
    }
    if (last_left >= first_end) return {};
    Finding found = parallelization_finding(
        evidence, left, first_end,
        fmt::format("{} ended before the first step, without an error; {} of {} processes train",
                    ranks_text(left), training, evidence.world_size()),
        "", id_of(Cause::misconfigured_resource_or_distributed_settings));
    return {std::move(found)};
}

}  // namespace

Findings unexpected_parallelization(const Evidence& evidence) {
    if (auto found = find_single_rank_worlds(evidence); !found.empty()) return found;
    if (auto found = small_groups(evidence); !found.empty()) return found;
    if (auto found = find_isolated_groups(evidence); !found.empty()) return found;
    return left_before_training(evidence);
}

extern const DetectorRow unexpected_parallelization_row{
    .name = id_of(Symptom::unexpected_parallelization),
    .reports = {id_of(Symptom::unexpected_parallelization)},
    .examine = unexpected_parallelization};

}  // namespace deadrank::results::detectors
