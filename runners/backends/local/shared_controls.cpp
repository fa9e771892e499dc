// runners/backends/local/shared_controls.cpp — The cache keeps evidence as files, since it is never copied in
// memory.
#include "runners/backends/local/shared_controls.h"

#include <fmt/format.h>

#include "scenarios/format/plan_file.h"

namespace deadrank::runners {

namespace {

// The plan without the names of its bug and its seed: what is left is what the processes see.
std::string key_of(scenarios::Plan plan) {
    plan.scenario = "control";
    plan.scenario_digest = "";
    plan.seed = {};
    plan.bug = {};
    plan.expect = {};
    return scenarios::to_toml(plan);
}

}  // namespace

std::shared_ptr<ControlCache::Slot> ControlCache::slot_of(const std::string& key) {
    const std::lock_guard lock(mutex_);
    auto& slot = slots_[key];
    if (!slot) slot = std::make_shared<Slot>();
    if (!scratch_) {
        if (auto made = Scratch::make({}, {})) scratch_.emplace(std::move(*made));
    }
    return slot;
}

scenarios::Result<Record> ControlCache::get(const scenarios::Plan& plan,
                                            const std::function<scenarios::Result<Record>()>& play) {
    const std::string key = key_of(plan);
    const auto slot = slot_of(key);
    const std::lock_guard lock(slot->mutex);
    if (slot->evidence.empty()) {
        auto record = play();
        if (!record || !scratch_) return record;
        const auto file = scratch_->path() / fmt::format("{:016x}.jsonl", std::hash<std::string>{}(key));
        if (!results::write_evidence(record->evidence, file)) return record;
        slot->evidence = file;
        slot->truth = record->truth;
        slot->ended = record->ended;
        slot->notes = record->notes;
        return record;
    }
    auto evidence = results::read_evidence(slot->evidence);
    if (!evidence) return tl::unexpected(evidence.error());
    Record record;
    record.evidence = std::move(*evidence);
    record.truth = slot->truth;
    record.ended = slot->ended;
    record.events = record.evidence.events().size();
    record.notes = slot->notes;
    return record;
}

scenarios::Result<Record> SharedControls::play(const scenarios::Plan& plan, const RunOptions& options) {
    const auto play = [&] { return real_->run(plan, options); };
    if (plan.variant != scenarios::Variant::control || !options.directory.empty()) return play();
    const auto stopped = [&] { return options.stop && options.stop->load(); };
    auto record = cache_->get(plan, [&]() -> scenarios::Result<Record> {
        auto played = play();
        if (played && stopped())  // half a control proves nothing
            return scenarios::refuse(scenarios::ErrorCode::internal, "it was stopped before it was done");
        return played;
    });
    return record;
}

}  // namespace deadrank::runners
