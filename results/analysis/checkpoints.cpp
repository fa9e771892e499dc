// results/analysis/checkpoints.cpp — Groups saves by step; a step saved after a restart is another save.
#include "results/analysis/checkpoints.h"

#include <algorithm>

namespace deadrank::results::analysis {

namespace {

// A save that ended because ranks lost each other, before anything was written.
bool lost_its_peers(Code result) {
    return result == Code::remote_error || result == Code::aborted || result == Code::timeout ||
           result == Code::killed;
}

}  // namespace

std::vector<std::int32_t> SavedStep::missing() const {
    std::vector<std::int32_t> absent;
    for (std::int32_t shard = 0; shard < shards; ++shard) {
        if (written.count(shard) == 0) absent.push_back(shard);
    }
    return absent;
}

Checkpoints::Checkpoints(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    std::map<std::pair<int, std::int64_t>, std::size_t> index;
    for (const Event* event : evidence.each<results::CheckpointSave>()) {
        const auto* save = event->as<results::CheckpointSave>();
        const int attempt = lives.attempt_at(event->at);
        const auto [known, fresh] = index.try_emplace({attempt, save->step}, steps_.size());
        if (fresh) steps_.push_back({.step = save->step, .attempt = attempt, .first = event->at});
        SavedStep& step = steps_[known->second];
        step.last = event->at;
        step.shards = std::clamp(save->shards, step.shards, 1 << 20);
        if (!lost_its_peers(save->result)) step.writers[evidence.text(save->path)].insert(event->rank);
        if (save->result != Code::ok) continue;
        step.written.insert(save->shard);
        by_path_[evidence.text(save->path)].push_back(event);
        digests_.try_emplace(save->digest, event->at);
    }
}

const SavedStep* Checkpoints::find(std::int64_t step, Time before) const {
    const SavedStep* found = nullptr;
    for (const SavedStep& saved : steps_) {
        if (saved.step == step && saved.first <= before) found = &saved;
    }
    return found;
}

const Event* Checkpoints::saved(std::string_view path, Time before) const {
    const auto found = by_path_.find(path);
    if (found == by_path_.end()) return nullptr;
    const Event* last = nullptr;
    for (const Event* event : found->second) {
        if (event->at <= before) last = event;
    }
    return last;
}

bool Checkpoints::ever_written(std::uint64_t digest, Time before) const {
    const auto found = digests_.find(digest);
    return found != digests_.end() && found->second <= before;
}

}  // namespace deadrank::results::analysis
