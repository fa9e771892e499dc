// runners/explore/moments.cpp — What a program did in a healthy run, as moments at which a fault may act.
#include "runners/explore/moments.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <initializer_list>
#include <map>
#include <vector>

#include "results/record/words.h"

namespace deadrank::runners::explore {

namespace {

using results::Event;
using results::Rank;

// The word of `when` for what this event begins; empty for any other event.
std::string_view call_of(const Event& event, MomentKind kind) {
    if (kind == MomentKind::calls) {
        if (const auto* call = event.as<results::CollectiveEnter>()) return name_of(call->op);
        if (const auto* message = event.as<results::P2pEnter>()) return name_of(message->op);
    }
    if (kind == MomentKind::files) {
        if (event.as<results::CheckpointSave>()) return "checkpoint_save";
        if (event.as<results::CheckpointLoad>()) return "checkpoint_load";
    }
    if (kind == MomentKind::phases) {
        const auto* begin = event.as<results::PhaseBegin>();
        if (begin && begin->phase != results::Phase::none) return name_of(begin->phase);
    }
    return "";
}

struct RankSoFar {
    std::int64_t step = -1;
    std::map<std::string_view, std::int64_t> calls;
};

}  // namespace

std::string ProgramMoment::text() const {
    if (call.empty()) return fmt::format("at step {}", step);
    return fmt::format("{} {} {}", is_phase ? "in" : "before", call, nth);
}

std::vector<ProgramMoment> list_moments(const results::Evidence& healthy, MomentKind kind) {
    std::vector<ProgramMoment> moments;
    std::map<Rank, RankSoFar> ranks;
    for (const Event& event : healthy.events()) {
        if (event.as<results::Restart>()) break;
        if (event.rank == results::no_rank) continue;
        RankSoFar& rank = ranks[event.rank];
        if (const auto* begin = event.as<results::StepBegin>()) {
            rank.step = begin->step;
            if (kind == MomentKind::steps) moments.push_back({.rank = event.rank, .call = {}, .step = rank.step});
        } else if (event.as<results::StepEnd>()) {
            rank.step = -1;
        } else if (const auto call = call_of(event, kind); !call.empty()) {
            moments.push_back(
                {event.rank, std::string(call), ++rank.calls[call], rank.step, kind == MomentKind::phases});
        }
    }
    std::stable_sort(moments.begin(), moments.end(),
                     [](const auto& one, const auto& other) { return one.rank < other.rank; });
    return moments;
}

std::string describe_moments(const results::Evidence& healthy, Rank rank) {
    const auto counts_of = [&](std::initializer_list<MomentKind> kinds) {
        std::map<std::string, std::int64_t> counts;
        for (const MomentKind kind : kinds)
            for (const ProgramMoment& moment : list_moments(healthy, kind))
                counts[moment.call] += moment.rank == rank;
        std::vector<std::string> words;
        for (const auto& [call, count] : counts)
            if (count > 0) words.push_back(fmt::format("{} × {}", call, count));
        return words;
    };
    std::vector<std::string> parts = counts_of({MomentKind::calls, MomentKind::files});
    std::vector<std::int32_t> steps;
    for (const ProgramMoment& moment : list_moments(healthy, MomentKind::steps))
        if (moment.rank == rank) steps.push_back(static_cast<std::int32_t>(moment.step));
    if (!steps.empty())
        parts.push_back(
            fmt::format("{} ({})", results::counted(steps.size(), "step"), results::ranges_text(steps)));
    if (const auto phases = counts_of({MomentKind::phases}); !phases.empty())
        parts.push_back(fmt::format("the phase{} {}", phases.size() > 1 ? "s" : "", fmt::join(phases, ", ")));
    if (parts.empty()) return fmt::format("rank {} makes no call and no step", rank);
    return fmt::format("rank {} has {}", rank, fmt::join(parts, ", "));
}

}  // namespace deadrank::runners::explore
