// results/detectors/resharding.cpp — A sound checkpoint does not fit the ranks: shards are missing,
// duplicated, or for another layout. Missing and duplicated shards show at the save, a layout that does not
// fit shows at the load.
#include <fmt/format.h>
#include <map>

#include "results/analysis/checkpoints.h"
#include "results/analysis/complaints.h"
#include "results/detectors/detector.h"
#include "results/record/words.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::detectors {

using scenarios::Cause;
using scenarios::Symptom;

using namespace analysis;

namespace {

// When every rank had gone on past this save or exited, so that no rank could complete it any more.
Time find_ranks_left_behind(const Evidence& evidence, const SavedStep& saved) {
    const Lives& lives = evidence.facts<Lives>();
    std::map<Rank, Time> gone_on;
    for (const Event* event : evidence.each<StepBegin>()) {
        if (event->at >= saved.first && event->as<StepBegin>()->step > saved.step)
            gone_on.try_emplace(event->rank, event->at);
    }
    if (gone_on.empty()) return never;
    Time all{0};
    for (const Life& life : lives.of(saved.attempt)) {
        const auto on = gone_on.find(life.process);
        if (life.start) all = std::max(all, on == gone_on.end() ? life.ended : on->second);
    }
    return all;
}

bool any_rank_died_before(const Lives& lives, int attempt, Time time) {
    for (const Life& life : lives.of(attempt)) {
        if (life.failed() && life.ended <= time) return true;
    }
    return false;
}

Finding reshard_finding(const Lives& lives, std::vector<Rank> ranks, Time at, std::int64_t step,
                        std::string says) {
    Finding found{.symptom = id_of(Symptom::reshard_restore_failure),
                  .blame = blame_ranks(lives, std::move(ranks)),
                  .at = at,
                  .says = std::move(says),
                  .causes = {id_of(Cause::layout_dependent_checkpoint_format),
                             id_of(Cause::rank_or_device_derivation_error)}};
    found.blame.step = step;
    return found;
}

std::vector<Finding> at_save(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    for (const SavedStep& saved : evidence.facts<Checkpoints>().steps()) {
        for (const auto& [path, writers] : saved.writers) {
            if (writers.size() < 2) continue;
            std::vector<Rank> ranks(writers.begin(), writers.end());
            Finding found = reshard_finding(
                lives, ranks, saved.last, saved.step,
                fmt::format("{} all wrote {} of step {}", ranks_text(ranks), path, saved.step));
            found.blame.shard = path;
            return {found};
        }
        const Time at = find_ranks_left_behind(evidence, saved);
        if (saved.whole() || at == never || any_rank_died_before(lives, saved.attempt, at)) continue;
        const auto missing = saved.missing();
        // If each rank writes one shard, a missing shard names its rank.
        const bool one_each = saved.shards == lives.count();
        return {reshard_finding(lives, one_each ? missing : std::vector<Rank>{}, at, saved.step,
                                fmt::format("the checkpoint of step {} lacks shard {} of {}", saved.step,
                                            ranges_text(missing), saved.shards))};
    }
    return {};
}

// The file was never meant to exist: the checkpoint is complete, but the reader asks for another layout. A checkpoint of
// one shard lacks a further one alone: another name is a file that is missing.
std::vector<Finding> at_load(const Evidence& evidence) {
    const Checkpoints& checkpoints = evidence.facts<Checkpoints>();
    std::vector<Rank> ranks;
    const Event* first = nullptr;
    for (const Event* event : evidence.each<CheckpointLoad>()) {
        const auto* load = event->as<CheckpointLoad>();
        const SavedStep* step = checkpoints.find(load->step, event->at);
        const bool misfit = load->result == Code::not_found && step && step->whole() &&
                            (step->shards > 1 || load->shard >= step->shards) &&
                            !checkpoints.saved(evidence.text(load->path), event->at);
        if (!misfit) continue;
        if (!first) first = event;
        ranks.push_back(event->rank);
    }
    if (!first) return {};
    const auto* load = first->as<CheckpointLoad>();
    Finding found =
        reshard_finding(evidence.facts<Lives>(), ranks, first->at, load->step,
                        fmt::format("{} asked for {}, which a whole checkpoint of {} shards does not have",
                                    ranks_text(sorted(ranks)), evidence.text(load->path),
                                    checkpoints.find(load->step, first->at)->shards));
    found.blame.shard = evidence.text(load->path);
    return {found};
}

}  // namespace

Findings reshard(const Evidence& evidence) {
    if (auto found = at_save(evidence); !found.empty()) return found;
    if (auto found = at_load(evidence); !found.empty()) return found;
    std::vector<Finding> findings;
    for (const Outbreak& outbreak : find_outbreaks(evidence, Trouble::reshard)) {
        findings.push_back(finding_of(evidence, outbreak, id_of(Symptom::reshard_restore_failure),
                                      {id_of(Cause::layout_dependent_checkpoint_format)}));
    }
    return findings;
}

extern const DetectorRow reshard_row{
    .name = "reshard", .reports = {id_of(Symptom::reshard_restore_failure)}, .examine = reshard};

}  // namespace deadrank::results::detectors
