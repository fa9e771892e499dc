// results/emitters/snapshot.cpp — One moment of a job: which processes live, and which calls are under way.
#include "results/emitters/snapshot.h"

#include <algorithm>
#include <fmt/format.h>

#include "results/emitters/c10d_names.h"
#include "results/record/codes.h"

namespace deadrank::results::emitters {

// ── Progress is what a rank does: calls, steps, phases. Samples and log lines go on while a job hangs.

namespace {

constexpr Time watchdogs_apart{5'000'000'000};  // within it, all watchdogs of one hang have dumped

struct IsProgress {
    template <class P>
    bool operator()(const P&) const {
        return false;
    }
    bool operator()(const RendezvousEnter&) const { return true; }
    bool operator()(const RendezvousLeave&) const { return true; }
    bool operator()(const CommInitEnter&) const { return true; }
    bool operator()(const CommInitLeave&) const { return true; }
    bool operator()(const CollectiveEnter&) const { return true; }
    bool operator()(const CollectiveLeave&) const { return true; }
    bool operator()(const P2pEnter&) const { return true; }
    bool operator()(const P2pLeave&) const { return true; }
    bool operator()(const StepBegin&) const { return true; }
    bool operator()(const StepEnd&) const { return true; }
    bool operator()(const PhaseBegin&) const { return true; }
    bool operator()(const PhaseEnd&) const { return true; }
    bool operator()(const CheckpointSave&) const { return true; }
    bool operator()(const CheckpointLoad&) const { return true; }
};

}  // namespace

Time first_silence(const Evidence& evidence) {
    Time progress{0};
    for (const Event& event : evidence.events()) {
        const bool moves = std::visit(IsProgress{}, event.what);
        const bool ends = event.as<RankExit>() || event.as<JobStop>();
        if ((moves || ends) && event.at > progress + patience) return progress + patience;
        if (event.as<JobStop>()) return snapshot_of(evidence).at;
        if (moves) progress = event.at;
    }
    return std::min(progress + patience, evidence.observed_until());
}

Snapshot snapshot_of(const Evidence& evidence) {
    Time progress{0}, first_abort = never, last_abort{0};
    for (const Event& event : evidence.events()) {
        if (const auto* exit = event.as<RankExit>(); exit && exit->signal == sigabrt) {
            first_abort = std::min(first_abort, event.at);
            if (event.at <= first_abort + watchdogs_apart) last_abort = event.at;
        }
        if (std::visit(IsProgress{}, event.what)) progress = event.at;
    }
    if (first_abort != never) return {last_abort, SnapshotReason::watchdog};
    const auto stops = evidence.each<JobStop>();
    if (!stops.empty()) return {stops.back()->at, SnapshotReason::ended};
    if (progress + patience <= evidence.observed_until())
        return {progress + patience, SnapshotReason::silence};
    return {evidence.observed_until(), SnapshotReason::watched};
}

// Bus addresses are the same as in the exporters' series.
std::map<Rank, ProcessPlace> places_of(const Evidence& evidence, Time at) {
    std::map<Rank, ProcessPlace> places;
    std::int32_t attempt = 0;
    for (const Event& event : evidence.events()) {
        if (event.at > at) break;
        if (const auto* restart = event.as<Restart>()) attempt = restart->attempt;
        if (const auto* start = event.as<RankStart>()) {
            const std::string_view versions = evidence.text(start->versions);
            places[event.rank] = {event.rank,
                                  event.rank,
                                  start->pid,
                                  start->node,
                                  start->gpu,
                                  attempt,
                                  std::string(evidence.text(start->host)),
                                  std::string(value_in(versions, "torch")),
                                  std::string(value_in(versions, "nccl")),
                                  std::string(value_in(versions, "cuda"))};
        }
        if (const auto* enter = event.as<RendezvousEnter>()) {
            const auto found = places.find(event.rank);
            if (found != places.end()) found->second.rank = enter->claimed_rank;
        }
    }
    return places;
}

std::uint64_t comm_hash(CommId comm) { return 0x9e3779b97f4a7c15ULL * comm; }

std::string bus_id(std::int32_t gpu) { return fmt::format("0000:{:02x}:00", 0x19 + gpu * 0x12); }

std::string nccl_prefix(const ProcessPlace& place) {
    return fmt::format("{}:{}:{} [{}]", place.host, place.pid, place.pid, place.gpu);
}

}  // namespace deadrank::results::emitters
