// results/detectors/host_exhaustion.cpp — Host memory, shared memory, descriptors or disk ran out, or are
// about to. An error shows that one did; a steady rise shows that it will. Counters belong to a host, so the
// host and its ranks are blamed; a process's own memory blames that rank alone.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include "results/analysis/complaints.h"
#include "results/analysis/phrases.h"
#include "results/detectors/detector.h"
#include "results/detectors/shared.h"
#include "results/record/event_names.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::detectors {

using scenarios::Cause;
using scenarios::Symptom;

using namespace analysis;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t samples_min = 5;
constexpr std::int64_t rise_permille = 50;  // of the limit, or of the first value where no limit is known

struct Reading {
    Time at;
    std::int64_t used;
    std::int64_t limit;
};

struct Series {
    std::string_view what;
    std::vector<Reading> readings;
    Rank rank = no_rank;  // the rank that owns it; no_rank: the node does
};

using ByNode = std::map<std::pair<std::int32_t, std::string_view>, Series>;

ByNode series_of(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    ByNode all;
    const auto add = [&](const Event& event, std::string_view what, std::int64_t used, std::int64_t limit) {
        if (used < 0) return;
        Series& series = all[{lives.node_of(event.rank), what}];
        series.what = what;
        if (series.readings.empty() || series.readings.back().at < event.at) {
            series.readings.push_back({event.at, used, limit});
        }
    };
    for (const Event* event : evidence.each<HostSample>()) {
        const auto* sample = event->as<HostSample>();
        add(*event, "shared memory", sample->shared_used, sample->shared_limit);
        add(*event, "open files", sample->open_files, sample->open_files_limit);
    }
    for (const Event* event : evidence.each<MemorySample>()) {
        const auto* sample = event->as<MemorySample>();
        if (sample->host_used > 0) add(*event, "host memory", sample->host_used, sample->host_limit);
    }
    return all;
}

// What each rank's process holds, against its configured limit. Starts over with each life of the process.
std::vector<Series> series_of_processes(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    std::map<Rank, std::int64_t> limits;
    for (const Event* event : evidence.each<RankConfig>()) {
        const auto* config = event->as<RankConfig>();
        if (evidence.text(config->name) != ConfigName::host_memory) continue;
        const std::string_view value = evidence.text(config->value);
        std::from_chars(value.data(), value.data() + value.size(), limits[event->rank]);
    }
    std::map<std::pair<int, Rank>, Series> all;
    for (const Event* event : evidence.each<ValueSample>()) {
        const auto* sample = event->as<ValueSample>();
        const auto limit = limits.find(event->rank);
        if (limit == limits.end() || evidence.text(sample->name) != SampleName::resident_memory) continue;
        Series& series = all[{lives.attempt_at(event->at), event->rank}];
        series.what = "memory", series.rank = event->rank;
        series.readings.push_back({event->at, std::llround(sample->value), limit->second});
    }
    std::vector<Series> found;
    for (auto& [key, series] : all) found.push_back(std::move(series));
    return found;
}

// From its first rise on it never falls, and rises in most samples: a leak, not a cache that fills up.
std::optional<Finding> leak_in(const Evidence& evidence, std::int32_t node, const Series& series) {
    const auto& readings = series.readings;
    std::size_t begin = readings.size();
    for (std::size_t i = 1; i < readings.size(); ++i) {
        if (readings[i].used < readings[i - 1].used)
            begin = readings.size();
        else if (readings[i].used > readings[i - 1].used && begin == readings.size())
            begin = i - 1;
        if (begin >= i || i - begin + 1 < samples_min) continue;
        std::size_t rises = 0;
        for (std::size_t k = begin + 1; k <= i; ++k) rises += readings[k].used > readings[k - 1].used;
        const std::int64_t whole =
            readings[i].limit > 0 ? readings[i].limit : std::max<std::int64_t>(readings[begin].used, 1);
        const std::int64_t risen = readings[i].used - readings[begin].used;
        if (rises * 10 < (i - begin) * 8 || risen < whole / 1000 * rise_permille) continue;
        const Lives& lives = evidence.facts<Lives>();
        const bool own = series.rank != no_rank;
        Finding finding{.symptom = id_of(Symptom::host_resource_exhaustion),
                        .blame = blame_ranks(lives, own ? std::vector{series.rank} : lives.on_node(node)),
                        .at = readings[i].at,
                        .says = fmt::format("{} of {} {} rose from {} to {} in {} looks and never fell",
                                            series.what, own ? "rank" : "node", own ? series.rank : node,
                                            readings[begin].used, readings[i].used, i - begin + 1),
                        .causes = {id_of(Cause::memory_placement_or_lifetime_error)}};
        finding.blame.component = series.what == "host memory" ? "memory" : std::string(series.what);
        return finding;
    }
    return std::nullopt;
}

// The event gives the sizes asked for and free.
std::string refused_memory(const Evidence& evidence, const Outbreak& outbreak) {
    for (const Event* event : evidence.each<MemoryOom>()) {
        const auto* oom = event->as<MemoryOom>();
        const std::string_view where = evidence.text(oom->where);
        if (event->rank != outbreak.ranks.front() || event->at < outbreak.at || where == MemoryPlace::device)
            continue;
        return fmt::format("{} asked for {} bytes of {} memory where {} were free",
                           ranks_text(outbreak.ranks), oom->requested,
                           where == MemoryPlace::pinned ? "pinned host" : "host", oom->available);
    }
    return {};
}

// A checkpoint for which the disk has no space: checkpoint_save reports it, with the file.
bool is_failed_save(const Evidence& evidence, const Outbreak& outbreak) {
    if (!shows(outbreak.text, Sign::disk_full)) return false;
    const auto saves = evidence.each<results::CheckpointSave>();
    return std::any_of(saves.begin(), saves.end(), [&](const Event* event) {
        const Time apart = event->at > outbreak.at ? event->at - outbreak.at : outbreak.at - event->at;
        return event->as<results::CheckpointSave>()->result == Code::no_space && apart <= 1s &&
               outbreak.includes(event->rank);
    });
}

}  // namespace

Findings host_exhaustion(const Evidence& evidence) {
    std::vector<Finding> findings;
    for (const Outbreak& outbreak : find_outbreaks(evidence, Trouble::host)) {
        if (is_failed_save(evidence, outbreak)) continue;
        findings.push_back(finding_of(evidence, outbreak, id_of(Symptom::host_resource_exhaustion),
                                      {id_of(Cause::misconfigured_resource_or_distributed_settings),
                                       id_of(Cause::memory_placement_or_lifetime_error)}));
        if (auto says = refused_memory(evidence, outbreak); !says.empty())
            findings.back().says = std::move(says);
    }
    if (!findings.empty()) return findings;
    for (const auto& [key, series] : series_of(evidence)) {
        if (auto leak = leak_in(evidence, key.first, series)) findings.push_back(std::move(*leak));
    }
    for (const Series& series : series_of_processes(evidence)) {
        if (auto leak = leak_in(evidence, -1, series)) findings.push_back(std::move(*leak));
    }
    return findings;
}

extern const DetectorRow host_exhaustion_row{.name = "host_exhaustion",
                                             .reports = {id_of(Symptom::host_resource_exhaustion)},
                                             .examine = host_exhaustion};

extern const Thresholds host_exhaustion_thresholds{
    {"samples of a host that rise", samples_min},
    {"the rise, of the limit or of the first sample", rise_permille, "‰"}};

}  // namespace deadrank::results::detectors
