// results/detectors/checkpoint_integrity.cpp — A loaded checkpoint is damaged: cut short, changed, or
// published before it was complete. The load fails, or returns bytes that no rank ever wrote. Bytes of
// another shard or of an older save load well; resume_regression reports those.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include "results/analysis/checkpoints.h"
#include "results/analysis/complaints.h"
#include "results/detectors/detector.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::detectors {

using scenarios::Cause;
using scenarios::Symptom;

using namespace analysis;

namespace {

// Damage, not a layout that does not fit: the file was written, or its checkpoint was never complete.
bool is_damage(const Checkpoints& checkpoints, const Event& event, std::string_view path) {
    const auto* load = event.as<CheckpointLoad>();
    if (load->result == Code::ok || load->result == Code::invalid_argument) {  // it was read, and may not fit
        const Event* save = checkpoints.saved(path, event.at);
        return save && save->as<results::CheckpointSave>()->digest != load->digest &&
               !checkpoints.ever_written(load->digest, event.at);
    }
    if (load->result != Code::not_found) return true;
    const SavedStep* step = checkpoints.find(load->step, event.at);
    return checkpoints.saved(path, event.at) || !step || !step->whole() ||
           (step->shards < 2 && load->shard < step->shards);
}

// The files that were read well, by all and by each rank.
struct Read {
    explicit Read(const Evidence& evidence) {
        for (const Event* load : evidence.each<CheckpointLoad>()) {
            if (load->as<CheckpointLoad>()->result != Code::ok) continue;
            all.insert(load->as<CheckpointLoad>()->path);
            by_rank[load->rank].insert(load->as<CheckpointLoad>()->path);
        }
    }
    bool all_by(Rank rank) const {
        const auto own = by_rank.find(rank);
        return (own == by_rank.end() ? 0 : own->second.size()) == all.size();
    }

    std::set<TextId> all;
    std::map<Rank, std::set<TextId>> by_rank;
};

// The job looked for a checkpoint, found none, and trained from scratch, as at its first start: nothing had
// been saved, and no other rank found what this one did not.
bool starts_from_scratch(const Evidence& evidence, const Read& read, const Event& event) {
    if (event.as<CheckpointLoad>()->result != Code::not_found) return false;
    const auto saves = evidence.each<results::CheckpointSave>();
    if (!saves.empty() && saves.front()->at <= event.at) return false;
    return read.all_by(event.rank) && continued_training(evidence, event.rank, event.at);
}

std::string description(const Checkpoints& checkpoints, const Event& event, std::string_view path) {
    const auto* load = event.as<CheckpointLoad>();
    const Event* save = checkpoints.saved(path, event.at);
    if ((load->result == Code::ok || load->result == Code::invalid_argument) && save) {
        return fmt::format("rank {} read {} with digest {}, written with {}", event.rank, path,
                           digest_text(load->digest),
                           digest_text(save->as<results::CheckpointSave>()->digest));
    }
    if (load->result == Code::not_found) {
        return fmt::format("rank {} did not find {}{}", event.rank, path,
                           load->step < 0 ? "" : fmt::format(" of step {}", load->step));
    }
    if (!save) return fmt::format("rank {} could not read {}: {}", event.rank, path, name_of(load->result));
    return fmt::format("rank {} could not read {}: {}, {} bytes of {} written", event.rank, path,
                       name_of(load->result), load->bytes, save->as<results::CheckpointSave>()->bytes);
}

}  // namespace

Findings checkpoint_integrity(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    const Checkpoints& checkpoints = evidence.facts<Checkpoints>();
    const Read read(evidence);
    const Event* first = nullptr;
    std::vector<Rank> ranks;
    for (const Event* event : evidence.each<CheckpointLoad>()) {
        if (!is_damage(checkpoints, *event, evidence.text(event->as<CheckpointLoad>()->path))) continue;
        if (starts_from_scratch(evidence, read, *event)) continue;
        if (!first) first = event;
        // Ranks of a busy machine come to the same load seconds apart.
        if (lives.same_step<CheckpointLoad>(*event, *first)) ranks.push_back(event->rank);
    }
    if (first) {
        const auto* load = first->as<CheckpointLoad>();
        const std::string_view path = evidence.text(load->path);
        Finding finding{
            .symptom = id_of(Symptom::checkpoint_unreadable),
            .blame = blame_ranks(lives, ranks),
            .at = first->at,
            .says = description(checkpoints, *first, path),
            .causes = {id_of(Cause::non_durable_checkpoint_commit), id_of(Cause::hardware_or_link_fault)}};
        finding.blame.step = load->step;
        finding.blame.component = "storage";
        finding.blame.shard = path;
        return {finding};
    }
    std::vector<Finding> findings;
    for (const Outbreak& outbreak : find_outbreaks(evidence, Trouble::unreadable)) {
        const auto loads = evidence.each<CheckpointLoad>();
        // What a rank was seen to load is judged above; that another rank could read it excuses nobody.
        if (std::any_of(loads.begin(), loads.end(),
                        [&](const Event* load) { return outbreak.includes(load->rank); }))
            continue;
        findings.push_back(
            finding_of(evidence, outbreak, id_of(Symptom::checkpoint_unreadable),
                       {id_of(Cause::non_durable_checkpoint_commit), id_of(Cause::hardware_or_link_fault)}));
    }
    return findings;
}

extern const DetectorRow checkpoint_integrity_row{.name = "checkpoint_integrity",
                                                  .reports = {id_of(Symptom::checkpoint_unreadable)},
                                                  .examine = checkpoint_integrity};

}  // namespace deadrank::results::detectors
