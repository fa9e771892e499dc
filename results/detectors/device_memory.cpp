// results/detectors/device_memory.cpp — An allocation on a device failed; the first rank decides. The sizes
// asked for and free come from the event; without one, from the exception. What rose until then is told, and
// makes a lifetime the first of the causes: a batch that is too large fails in its first step.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "results/analysis/complaints.h"
#include "results/analysis/devices_in_use.h"
#include "results/analysis/findings.h"
#include "results/analysis/lives.h"
#include "results/detectors/detector.h"
#include "results/detectors/shared.h"
#include "results/record/event_names.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::detectors {

using scenarios::Cause;
using scenarios::Symptom;

using namespace analysis;

namespace {

const MemoryOom* oom_of(const Evidence& evidence, Rank rank, Time at) {
    for (const Event* event : evidence.each<MemoryOom>()) {
        if (event->rank == rank && event->at >= at) return event->as<MemoryOom>();
    }
    return nullptr;
}

constexpr std::size_t rises_min = 4;
constexpr std::int64_t rise_share = 10;  // of the device, at least, by all rises together

struct Rise {
    std::int64_t from = 0, to = 0;
    std::size_t samples = 0;
};

// What the rank's device held up to then, from where it last fell. Four samples of five rise.
std::optional<Rise> rise_until(const Evidence& evidence, const Outbreak& outbreak) {
    const Rank rank = outbreak.ranks.front();
    std::vector<std::int64_t> used;
    std::int64_t limit = 0;
    std::size_t rises = 0;
    for (const Event* event : evidence.each<MemorySample>()) {
        if (event->rank != rank || event->at > outbreak.at) continue;
        if (evidence.facts<Lives>().attempt_at(event->at) != outbreak.attempt) continue;
        const auto* sample = event->as<MemorySample>();
        limit = sample->limit;
        if (!used.empty() && sample->used < used.back()) used.clear(), rises = 0;
        rises += !used.empty() && sample->used > used.back();
        used.push_back(sample->used);
    }
    if (rises < rises_min || rises * 5 < (used.size() - 1) * 4) return std::nullopt;
    if (used.back() - used.front() < limit / rise_share) return std::nullopt;
    return Rise{used.front(), used.back(), used.size()};
}

// Where all who failed had put something on a device that is another rank's: everybody who did so there.
std::vector<Rank> find_foreign_device_users(const Evidence& evidence, const Outbreak& outbreak) {
    const DevicesInUse& devices = evidence.facts<DevicesInUse>();
    const Lives& lives = evidence.facts<Lives>();
    std::map<std::pair<int, std::int32_t>, std::set<Rank>> strangers;  // by node and device
    for (const Event* event : evidence.each<DeviceBind>()) {
        const auto* bind = event->as<DeviceBind>();
        const std::int32_t own = devices.of(event->rank);
        if (evidence.text(bind->what) != BoundPart::context || own < 0 || own == bind->device) continue;
        if (lives.attempt_at(event->at) == outbreak.attempt && event->at <= outbreak.at)
            strangers[{lives.node_of(event->rank), bind->device}].insert(event->rank);
    }
    for (const auto& [place, ranks] : strangers) {
        const auto is_one = [&here = ranks](Rank rank) { return here.contains(rank); };
        if (std::all_of(outbreak.ranks.begin(), outbreak.ranks.end(), is_one))
            return {ranks.begin(), ranks.end()};
    }
    return {};
}

}  // namespace

Findings device_memory(const Evidence& evidence) {
    std::vector<Finding> findings;
    for (const Outbreak& outbreak : find_outbreaks(evidence, Trouble::memory)) {
        const bool alone = outbreak.ranks.size() == 1;
        findings.push_back(finding_of(
            evidence, outbreak, id_of(Symptom::device_out_of_memory),
            alone ? std::vector<std::string>{id_of(Cause::unpropagated_rank_failure),
                                             id_of(Cause::memory_placement_or_lifetime_error)}
                  : std::vector<std::string>{id_of(Cause::misconfigured_resource_or_distributed_settings),
                                             id_of(Cause::memory_placement_or_lifetime_error)}));
        Finding& finding = findings.back();
        finding.blame.component = "memory";
        if (const MemoryOom* oom = oom_of(evidence, outbreak.ranks.front(), outbreak.at)) {
            finding.says = fmt::format("{} asked for {} bytes of device memory where {} were free",
                                       ranks_text(outbreak.ranks), oom->requested, oom->available);
        }
        if (const auto strangers = find_foreign_device_users(evidence, outbreak); !strangers.empty()) {
            const auto step = finding.blame.step;
            finding.blame = blame_ranks(evidence.facts<Lives>(), strangers);
            finding.blame.step = step;
            finding.blame.component = "memory";
            finding.says += fmt::format("; {} had opened contexts on this device, which is another rank's",
                                        ranks_text(strangers));
        }
        if (const auto rise = rise_until(evidence, outbreak)) {
            finding.says +=
                fmt::format("; what rank {}'s device held had risen from {} to {} bytes in {} samples",
                            outbreak.ranks.front(), rise->from, rise->to, rise->samples);
            std::stable_partition(finding.causes.begin(), finding.causes.end(), [](const std::string& cause) {
                return cause == Cause::memory_placement_or_lifetime_error;
            });
        }
    }
    return findings;
}

extern const DetectorRow device_memory_row{
    .name = "device_memory", .reports = {id_of(Symptom::device_out_of_memory)}, .examine = device_memory};

extern const Thresholds device_memory_thresholds{{"samples of a device that rose before", rises_min},
                                                 {"the device, of that rise", rise_share}};

}  // namespace deadrank::results::detectors
