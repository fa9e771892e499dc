// runners/backends/local/shared_controls.cpp — Evidence is never copied in memory, so that the shelf keeps it
// as a file.
#include "runners/backends/local/shared_controls.h"
#include "scenarios/format/plan_file.h"

#include <fmt/format.h>

namespace deadrank::runners {

namespace {

// The job without the names of the bug and of the draw: what is left is what the processes get to see.
std::string key_of(scenarios::Plan plan) {
    plan.scenario = "control";
    plan.scenario_digest = "";
    plan.seed = {};
    plan.bug = {};
    plan.expect = {};
    return scenarios::to_toml(plan);
}

}  // namespace

std::shared_ptr<ControlShelf::Place> ControlShelf::place_of(const std::string& key) {
    const std::lock_guard lock(mutex_);
    auto& place = places_[key];
    if (!place) place = std::make_shared<Place>();
    if (!scratch_) {
        if (auto made = Scratch::make({}, {})) scratch_.emplace(std::move(*made));
    }
    return place;
}

scenarios::Result<Record> ControlShelf::get(const scenarios::Plan& plan,
                                            const std::function<scenarios::Result<Record>()>& play) {
    const std::string key = key_of(plan);
    const auto place = place_of(key);
    const std::lock_guard lock(place->mutex);
    if (place->evidence.empty()) {
        auto record = play();
        if (!record || !scratch_) return record;
        const auto file = scratch_->path() / fmt::format("{:016x}.jsonl", std::hash<std::string>{}(key));
        if (!results::write_evidence(record->evidence, file)) return record;
        place->evidence = file;
        place->truth = record->truth;
        place->ended = record->ended;
        place->notes = record->notes;
        return record;
    }
    auto evidence = results::read_evidence(place->evidence);
    if (!evidence) return tl::unexpected(evidence.error());
    Record record;
    record.evidence = std::move(*evidence);
    record.truth = place->truth;
    record.ended = place->ended;
    record.events = record.evidence.events().size();
    record.notes = place->notes;
    return record;
}

scenarios::Result<Record> SharedControls::run(const scenarios::Plan& plan, const RunOptions& options) {
    const auto play = [&] { return real_->run(plan, options); };
    if (plan.variant != scenarios::Variant::control || !options.directory.empty()) return play();
    const auto stopped = [&] { return options.stop && options.stop->load(); };
    auto record = shelf_->get(plan, [&]() -> scenarios::Result<Record> {
        auto played = play();
        if (played && stopped())  // half a control is none
            return scenarios::refuse(scenarios::ErrorCode::internal, "it was stopped before it was done");
        return played;
    });
    return record;
}

}  // namespace deadrank::runners
