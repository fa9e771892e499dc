// runners/explore/moments.cpp — What a program did in a healthy run, as moments at which a fault may act.
#include "runners/explore/moments.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

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
    return "";
}

struct RankSoFar {
    std::int64_t step = -1;
    std::map<std::string_view, std::int64_t> calls;
};

}  // namespace

std::string ProgramMoment::text() const {
    return call.empty() ? fmt::format("at step {}", step) : fmt::format("before {} {}", call, nth);
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
            moments.push_back({event.rank, std::string(call), ++rank.calls[call], rank.step});
        }
    }
    std::stable_sort(moments.begin(), moments.end(),
                     [](const auto& one, const auto& other) { return one.rank < other.rank; });
    return moments;
}

std::string describe_moments(const results::Evidence& healthy, Rank rank) {
    std::map<std::string, std::int64_t> calls;
    std::int64_t steps = 0;
    for (const MomentKind kind : {MomentKind::calls, MomentKind::files}) {
        for (const ProgramMoment& moment : list_moments(healthy, kind))
            if (moment.rank == rank) ++calls[moment.call];
    }
    for (const ProgramMoment& moment : list_moments(healthy, MomentKind::steps)) steps += moment.rank == rank;
    std::vector<std::string> parts;
    for (const auto& [call, count] : calls) parts.push_back(fmt::format("{} × {}", call, count));
    if (steps > 0) parts.push_back(fmt::format("{} (0 to {})", results::counted(steps, "step"), steps - 1));
    if (parts.empty()) return fmt::format("rank {} makes no call and no step", rank);
    return fmt::format("rank {} has {}", rank, fmt::join(parts, ", "));
}

}  // namespace deadrank::runners::explore
