// results/detectors/unbalanced_memory.cpp — One device holds much more than its peers: half as much again as
// the median, and a tenth of the device, more than a layout explains.
#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "results/detectors/detector.h"
#include "results/detectors/shared.h"
#include "results/facts/findings.h"
#include "results/facts/odd.h"

namespace deadrank::results::detectors {

namespace {

constexpr int looks_min = 3;

// What other ranks put on a device where they do not compute.
std::vector<Finding> strangers_on_devices(const Evidence& evidence) {
    const DevicesInUse& devices = evidence.facts<DevicesInUse>();
    std::vector<Rank> ranks;
    const Event* first = nullptr;
    for (const Event* event : evidence.each<DeviceBind>()) {
        const auto* bind = event->as<DeviceBind>();
        const std::string_view what = evidence.text(bind->what);
        const std::int32_t own = devices.of(event->rank);
        if (own < 0 || own == bind->device || (what != "weights" && what != "context")) continue;
        if (!first) first = event;
        ranks.push_back(event->rank);
    }
    if (!first) return {};
    const auto* bind = first->as<DeviceBind>();
    return {{.symptom = "unbalanced_rank_memory",
             .blame = blame_ranks(evidence.facts<Lives>(), ranks),
             .at = first->at,
             .says = fmt::format("{} put {} on device {} of another rank", ranks_text(sorted(ranks)),
                                 evidence.text(bind->what) == "weights" ? "their weights" : "a context",
                                 bind->device),
             .causes = {"memory_placement_or_lifetime_error"}}};
}

}  // namespace

Findings unbalanced_memory(const Evidence& evidence) {
    if (auto found = strangers_on_devices(evidence); !found.empty()) return found;
    const auto ranks = static_cast<std::size_t>(evidence.facts<Lives>().count());
    std::map<Rank, std::int64_t> used;
    std::map<Rank, int> above;
    std::int64_t middle = 0;
    std::size_t looks = 0;
    for (const Event* event : evidence.each<MemorySample>()) {
        const auto* sample = event->as<MemorySample>();
        used[event->rank] = sample->used;
        if (used.size() < std::max<std::size_t>(ranks, 2) || sample->limit <= 0) continue;
        if (looks++ % ranks == 0) {  // once a round is often enough
            std::vector<std::int64_t> all;
            for (const auto& [rank, bytes] : used) all.push_back(bytes);
            const auto lower = all.begin() + static_cast<std::ptrdiff_t>((all.size() - 1) / 2);
            std::nth_element(all.begin(), lower, all.end());
            middle = *lower;
        }
        const bool high = sample->used > middle / 2 * 3 && sample->used - middle > sample->limit / 10;
        above[event->rank] = high ? above[event->rank] + 1 : 0;
        if (above[event->rank] < looks_min) continue;
        return {{.symptom = "unbalanced_rank_memory",
                 .blame = blame_ranks(evidence.facts<Lives>(), {event->rank}),
                 .at = event->at,
                 .says = fmt::format("the device of rank {} carries {} bytes, the median is {}", event->rank,
                                     sample->used, middle),
                 .causes = {"memory_placement_or_lifetime_error", "uneven_work_or_data_partition"}}};
    }
    return {};
}

extern const DetectorRow unbalanced_memory_row{
    .name = "unbalanced_memory", .reports = {"unbalanced_rank_memory"}, .examine = unbalanced_memory};

extern const Thresholds unbalanced_memory_thresholds{{"samples of a rank above the others", looks_min}};

}  // namespace deadrank::results::detectors
