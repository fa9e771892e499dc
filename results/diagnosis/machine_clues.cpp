// results/diagnosis/machine_clues.cpp — Devices, links, hosts, memory, and how processes ended.
#include <fmt/format.h>
#include <map>
#include <set>

#include "results/analysis/complaints.h"
#include "results/analysis/findings.h"
#include "results/diagnosis/clue.h"
#include "results/diagnosis/incident_reading.h"
#include "results/record/codes.h"

namespace deadrank::results::diagnosis {

using namespace analysis;

namespace {

constexpr std::int32_t power_cap = 2;  // of device.sample's throttle

void devices(const Evidence& evidence, const Finding& finding, Clues& clues) {
    for (const Event* event : evidence.each<DeviceError>()) {
        const auto* error = event->as<DeviceError>();
        clues.push_back({"device_error_logged",
                         event->rank == no_rank ? fmt::format("Xid {}", error->xid)
                                                : fmt::format("rank {}: Xid {}", event->rank, error->xid)});
        break;
    }
    for (const Event* event : evidence.each<DeviceSample>()) {
        const auto* sample = event->as<DeviceSample>();
        if (sample->throttle == 0 || !blamed(finding, event->rank)) continue;
        clues.push_back(
            {"device_throttled", fmt::format("the device of rank {} is throttled at {} MHz, {} °C",
                                             event->rank, sample->clock_mhz, sample->temperature)});
        break;
    }
    std::set<Rank> capped;
    for (const Event* event : evidence.each<DeviceSample>()) {
        if ((event->as<DeviceSample>()->throttle & power_cap) != 0) capped.insert(event->rank);
    }
    if (static_cast<std::int32_t>(capped.size()) == evidence.world_size())
        clues.push_back({"every_device_capped", "the power of every device is capped"});
    for (const Event* event : evidence.each<LinkSample>()) {
        const auto* sample = event->as<LinkSample>();
        if (sample->up != 0 && sample->errors == 0 && sample->retransmits == 0) continue;
        clues.push_back({"link_troubled",
                         fmt::format("{}: {}, {} errors, {} retransmits", evidence.text(sample->link),
                                     sample->up != 0 ? "up" : "down", sample->errors, sample->retransmits)});
        break;
    }
}

void memory(const Evidence& evidence, const Finding& finding, Clues& clues) {
    std::set<Rank> first_step;
    for (const Event* event : evidence.each<StepEnd>()) first_step.insert(event->rank);
    for (const Event* event : evidence.each<MemoryOom>()) {
        const auto* oom = event->as<MemoryOom>();
        clues.push_back(
            {"memory_ran_out", fmt::format("rank {} asked for {} bytes of {} where {} were left", event->rank,
                                           oom->requested, evidence.text(oom->where), oom->available)});
        if (first_step.count(event->rank) == 0)
            clues.push_back(
                {"memory_never_fitted", fmt::format("rank {} had not ended one step", event->rank)});
        break;
    }
    struct Growth {
        std::int64_t last = -1, host = -1, first = 0, rises = 0, samples = 0;
    };
    std::map<Rank, Growth> growth;
    for (const Event* event : evidence.each<MemorySample>()) {
        const auto* sample = event->as<MemorySample>();
        Growth& mine = growth[event->rank];
        if (mine.samples++ == 0) mine.first = sample->used;
        mine.rises += mine.samples > 1 && (sample->used > mine.last || sample->host_used > mine.host);
        mine.last = sample->used;
        mine.host = sample->host_used;
    }
    for (const auto& [rank, mine] : growth) {
        if (mine.samples < 4 || mine.rises * 4 < (mine.samples - 1) * 3 || !blamed(finding, rank)) continue;
        clues.push_back({"memory_grew", fmt::format("memory of rank {} grew in {} of {} samples", rank,
                                                    mine.rises, mine.samples)});
        break;
    }
}

// A rank that waited until its own watchdog ended it is not the failure but its echo.
std::set<Rank> ended_by_their_watchdog(const Evidence& evidence, int attempt) {
    std::set<Rank> echoes;
    for (const Complaint& complaint : evidence.facts<Complaints>().first_of_each(attempt)) {
        if (complaint.trouble == Trouble::timeout) echoes.insert(complaint.process);
    }
    return echoes;
}

// How processes of this attempt ended before the alarm.
void ends(const Evidence& evidence, const Finding& finding, Clues& clues) {
    const Lives& lives = evidence.facts<Lives>();
    const int attempt = lives.attempt_at(finding.at);
    bool killed = false, in_error = false, early = false, any = false;
    std::int64_t furthest = -1;
    for (const Life& life : lives.of(attempt)) furthest = std::max(furthest, life.step);
    const std::set<Rank> echoes = ended_by_their_watchdog(evidence, attempt);
    for (const Life& life : lives.of(attempt)) {
        if (life.ended > finding.at || life.signal == 15) continue;
        any |= life.failed();
        if (!blamed(finding, life.process) || echoes.contains(life.process)) continue;
        if (life.signal != 0 && !killed) {
            killed = true;
            clues.push_back(
                {"killed", fmt::format("rank {} was ended by {}", life.process, signal_name(life.signal))});
        } else if (life.code != 0 && !in_error) {
            in_error = true;
            clues.push_back(
                {"exited_in_error", fmt::format("rank {} left with code {}", life.process, life.code)});
        } else if (life.code == 0 && life.ended != never && !early) {
            early = true;
            const bool all_steps = life.finished >= furthest;
            clues.push_back({all_steps ? "finished_all_steps" : "finished_early",
                             fmt::format("rank {} had exited normally after step {}{}", life.process,
                                         life.finished, all_steps ? ", the last that any rank began" : "")});
        }
    }
    // Imported logs in which no launcher reports an exit do not show whether any process ended.
    const bool ends_told = !is_imported(evidence) || !evidence.each<RankExit>().empty();
    if (!any && !early && ends_told)
        clues.push_back({"nobody_ended", "every process was there when the alarm rang"});
    std::map<std::int32_t, std::pair<int, int>> silent;  // node → silent, all
    for (const Life& life : lives.of(attempt)) {
        auto& [gone, all] = silent[lives.node_of(life.process)];
        ++all;
        gone +=
            life.ended == never && life.last_seen + lives.hang_after() < finding.at && life.step < furthest;
    }
    for (const auto& [node, counts] : silent) {
        if (counts.first < counts.second || silent.size() < 2) continue;
        clues.push_back({"node_vanished", fmt::format("nothing was heard of node {} any more", node)});
        break;
    }
}

}  // namespace

void machine_clues(const Evidence& evidence, const Finding& finding, Clues& clues) {
    devices(evidence, finding, clues);
    memory(evidence, finding, clues);
    ends(evidence, finding, clues);
}

}  // namespace deadrank::results::diagnosis
