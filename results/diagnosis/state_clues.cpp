// results/diagnosis/state_clues.cpp — Samples, checkpoints, restarts and stages: state that is divided among
// ranks or kept.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include "results/analysis/checkpoints.h"
#include "results/analysis/findings.h"
#include "results/detectors/shared.h"
#include "results/diagnosis/clue.h"

namespace deadrank::results::diagnosis {

using namespace analysis;

namespace {

// Batches and samples that each rank got until the alarm.
void batches(const Evidence& evidence, const Finding& finding, Clues& clues) {
    std::map<std::int64_t, std::set<std::int32_t>> sizes;  // by step
    std::map<Rank, std::int64_t> steps;
    for (const Event* event : evidence.each<DataBatch>()) {
        if (event->at > finding.at) break;
        sizes[event->as<DataBatch>()->step].insert(event->as<DataBatch>()->count);
        ++steps[event->rank];
    }
    for (const auto& [step, counts] : sizes) {
        if (counts.size() < 2) continue;
        clues.push_back({"batches_differ", fmt::format("batches of step {} hold {} to {} samples", step,
                                                       *counts.begin(), *counts.rbegin())});
        break;
    }
    for (const Finding& other : detectors::sample_coverage(evidence)) {
        clues.push_back({"samples_repeat", other.says});
        break;
    }
}

void checkpoints(const Evidence& evidence, const Finding& finding, Clues& clues) {
    const Checkpoints& saved = evidence.facts<Checkpoints>();
    bool refused = false, never_written = false, layout = false;
    std::set<Rank> readers;
    std::size_t writers = 0;  // shards of what was read
    for (const Event* event : evidence.each<CheckpointSave>()) {
        const auto* save = event->as<CheckpointSave>();
        if (save->result == Code::ok || refused) continue;
        refused = true;
        clues.push_back(
            {"storage_refused", fmt::format("{}: {}", evidence.text(save->path), name_of(save->result))});
    }
    for (const Event* event : evidence.each<CheckpointLoad>()) {
        const auto* load = event->as<CheckpointLoad>();
        if (event->at > finding.at) break;
        if (!never_written && load->bytes > 0 && !saved.ever_written(load->digest, event->at)) {
            never_written = true;
            clues.push_back({"bytes_never_written", fmt::format("no rank wrote what rank {} read from {}",
                                                                event->rank, evidence.text(load->path))});
        }
        const SavedStep* step = saved.find(load->step, event->at);
        if (!layout && step && step->shards != load->shards) {
            layout = true;
            clues.push_back({"layout_changed",
                             fmt::format("saved as {} shards, read as {}", step->shards, load->shards)});
        }
        readers.insert(event->rank);
        if (step) writers = std::max(writers, static_cast<std::size_t>(step->shards));
    }
    if (!layout && writers > 1 && !readers.empty() && readers.size() != writers) {
        clues.push_back({"layout_changed",
                         fmt::format("{} ranks read what was saved as {} shards", readers.size(), writers)});
    }
}

// Compares what was asked for with what a complete save holds.
void wanted_and_held(const Evidence& evidence, const Finding& finding, Clues& clues) {
    const Checkpoints& saved = evidence.facts<Checkpoints>();
    bool beyond = false;
    std::int64_t newest = -1, loaded = -1;
    const Lives& lives = evidence.facts<Lives>();
    const int attempt = lives.attempt_at(finding.at);
    for (const SavedStep& step : saved.steps()) {
        if (step.whole() && step.attempt < attempt) newest = std::max(newest, step.step);
    }
    for (const Event* event : evidence.each<CheckpointLoad>()) {
        const auto* load = event->as<CheckpointLoad>();
        if (event->at > finding.at) break;
        if (lives.attempt_at(event->at) == attempt) loaded = std::max(loaded, load->step);
        const SavedStep* step = saved.find(load->step, event->at);
        if (beyond || load->result != Code::not_found || !step || !step->whole()) continue;
        beyond = true;
        clues.push_back({"asked_beyond_a_whole_save",
                         fmt::format("rank {} asked for {}, and the save of {} shards is whole", event->rank,
                                     evidence.text(load->path), step->shards)});
    }
    if (attempt > 0 && newest >= 0 && loaded < newest)
        clues.push_back(
            {"newer_save_passed_over", fmt::format("step {} was saved whole, {} was read", newest,
                                                   loaded < 0 ? "nothing" : fmt::format("step {}", loaded))});
    for (const Event* event : evidence.each<CheckpointSave>()) {
        const auto* save = event->as<CheckpointSave>();
        if (save->bytes > 0 || save->result != Code::ok) continue;
        clues.push_back({"nothing_in_it", fmt::format("rank {} saved {} with nothing in it", event->rank,
                                                      evidence.text(save->path))});
        break;
    }
}

// Ranks in the order of a pipeline: is the slow one its last stage?
void last_stage(const Evidence& evidence, const Finding& finding, Clues& clues) {
    if (finding.symptom != "straggler_step_time_skew" || evidence.each<P2pEnter>().empty()) return;
    if (finding.blame.ranks.empty() || finding.blame.ranks.back() != evidence.world_size() - 1) return;
    clues.push_back({"last_stage_slow", fmt::format("{} of {}: the last stage of a pipeline",
                                                    ranks_text(finding.blame.ranks), evidence.world_size())});
}

}  // namespace

void state_clues(const Evidence& evidence, const Finding& finding, Clues& clues) {
    batches(evidence, finding, clues);
    checkpoints(evidence, finding, clues);
    wanted_and_held(evidence, finding, clues);
    last_stage(evidence, finding, clues);
    const Lives& lives = evidence.facts<Lives>();
    if (lives.attempt_at(finding.at) > 0)
        clues.push_back({"after_restart", fmt::format("in attempt {}", lives.attempt_at(finding.at) + 1)});
}

}  // namespace deadrank::results::diagnosis
