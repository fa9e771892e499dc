// results/detectors/unbalanced_memory.cpp — One device holds much more than its peers: half as much again as
// the median, and a tenth of the device, more than a layout explains. Or it holds more and more, and its
// peers do not. Peers are the ranks of the same role.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "results/analysis/devices_in_use.h"
#include "results/analysis/findings.h"
#include "results/analysis/meetings.h"
#include "results/detectors/detector.h"
#include "results/detectors/shared.h"
#include "results/record/event_names.h"
#include "results/record/words.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::detectors {

using scenarios::Cause;
using scenarios::Symptom;

using namespace analysis;

namespace {

constexpr int looks_min = 3;
// What comes and goes with the batches lies above what stays, so the least of some samples is looked at.
constexpr int samples_of_a_stair = 10;
constexpr std::size_t rises_min = 3;
constexpr std::int64_t rise_share = 64;   // of the device, at least, by each rise
constexpr std::int64_t peers_factor = 3;  // times what a peer's least differs meanwhile

// What other ranks put on a device where they do not compute.
std::vector<Finding> find_foreign_memory(const Evidence& evidence) {
    const DevicesInUse& devices = evidence.facts<DevicesInUse>();
    std::vector<Rank> ranks;
    std::vector<std::int32_t> on;
    const Event* first = nullptr;
    for (const Event* event : evidence.each<DeviceBind>()) {
        const auto* bind = event->as<DeviceBind>();
        const std::string_view what = evidence.text(bind->what);
        const std::int32_t own = devices.of(event->rank);
        if (own < 0 || own == bind->device || (what != BoundPart::weights && what != BoundPart::context))
            continue;
        if (!first) first = event;
        ranks.push_back(event->rank);
        on.push_back(bind->device);
    }
    if (!first) return {};
    const bool weights = evidence.text(first->as<DeviceBind>()->what) == BoundPart::weights;
    on = sorted(std::move(on));
    const std::string what = weights ? "their weights" : on.size() > 1 ? "contexts" : "a context";
    return {{.symptom = id_of(Symptom::unbalanced_rank_memory),
             .blame = blame_ranks(evidence.facts<Lives>(), ranks),
             .at = first->at,
             .says = fmt::format("{} put {} on {} {} of {}", ranks_text(sorted(ranks)), what,
                                 on.size() > 1 ? "devices" : "device", ranges_text(on),
                                 on.size() > 1 ? "other ranks" : "another rank"),
             .causes = {id_of(Cause::memory_placement_or_lifetime_error)}}};
}

// The least that each rank's device held in every ten samples of one attempt.
class Stairs {
public:
    explicit Stairs(const Evidence& evidence) : evidence_(evidence), roles_(evidence.facts<Roles>()) {}

    std::optional<Finding> look_at(const Event& event) {
        const auto* sample = event.as<MemorySample>();
        if (const int attempt = evidence_.facts<Lives>().attempt_at(event.at); attempt != attempt_) {
            attempt_ = attempt;
            ranks_.clear();
        }
        Climb& own = ranks_[event.rank];
        own.least = own.samples == 0 ? sample->used : std::min(own.least, sample->used);
        if (++own.samples < samples_of_a_stair) return std::nullopt;
        own.samples = 0;
        own.stairs.push_back(own.least);
        if (!climbs(own.stairs, sample->limit)) return std::nullopt;
        const std::int64_t rise = own.stairs.back() - own.stairs[own.stairs.size() - 1 - rises_min];
        const auto peers = peers_change(event.rank, own.stairs.size());
        if (!peers || rise < peers_factor * *peers) return std::nullopt;
        return Finding{.symptom = id_of(Symptom::unbalanced_rank_memory),
                       .blame = blame_ranks(evidence_.facts<Lives>(), {event.rank}),
                       .at = event.at,
                       .says = fmt::format(
                           "the device of rank {} holds more and more: {} bytes more than {} samples ago, "
                           "and those of its peers do not",
                           event.rank, rise, samples_of_a_stair * static_cast<int>(rises_min)),
                       .causes = {id_of(Cause::memory_placement_or_lifetime_error)}};
    }

private:
    struct Climb {
        int samples = 0;
        std::int64_t least = 0;
        std::vector<std::int64_t> stairs;
    };

    // The first ten samples are the job's set-up.
    static bool climbs(const std::vector<std::int64_t>& stairs, std::int64_t limit) {
        if (stairs.size() < rises_min + 2 || limit <= 0) return false;
        for (std::size_t i = stairs.size() - rises_min; i < stairs.size(); ++i)
            if (stairs[i] - stairs[i - 1] < limit / rise_share) return false;
        return true;
    }

    // By how much the least of a usual peer differed in as many samples, up to this or the last one.
    std::optional<std::int64_t> peers_change(Rank rank, std::size_t until) const {
        std::vector<std::int64_t> changes;
        for (const auto& [other, climb] : ranks_) {
            const std::size_t end = std::min(until, climb.stairs.size());
            if (other == rank || roles_.of(other) != roles_.of(rank) || end < rises_min + 1) continue;
            const auto [low, high] =
                std::minmax_element(climb.stairs.begin() + static_cast<std::ptrdiff_t>(end - rises_min - 1),
                                    climb.stairs.begin() + static_cast<std::ptrdiff_t>(end));
            changes.push_back(*high - *low);
        }
        if (changes.empty()) return std::nullopt;
        return median(std::move(changes));
    }

    const Evidence& evidence_;
    const Roles& roles_;
    int attempt_ = 0;
    std::map<Rank, Climb> ranks_;
};

std::vector<Finding> find_memory_growth(const Evidence& evidence) {
    Stairs stairs(evidence);
    for (const Event* event : evidence.each<MemorySample>()) {
        if (event->rank < 0) continue;
        if (auto found = stairs.look_at(*event)) return {*found};
    }
    return {};
}

// By role: how much a usual device holds, and of how many of its ranks it is known.
using Medians = std::map<std::size_t, std::int64_t>;

Medians compute_medians(const Roles& roles, const std::map<Rank, std::int64_t>& used) {
    std::map<std::size_t, std::vector<std::int64_t>> all;
    for (const auto& [rank, bytes] : used) all[roles.of(rank)].push_back(bytes);
    Medians middles;
    for (auto& [role, bytes] : all) {
        const auto lower = bytes.begin() + static_cast<std::ptrdiff_t>((bytes.size() - 1) / 2);
        std::nth_element(bytes.begin(), lower, bytes.end());
        middles[role] = *lower;
    }
    return middles;
}

std::vector<Finding> much_more(const Evidence& evidence) {
    const auto ranks = static_cast<std::size_t>(evidence.facts<Lives>().count());
    const Roles& roles = evidence.facts<Roles>();
    std::map<Rank, std::int64_t> used;
    std::map<Rank, int> above;
    Medians middles;
    std::size_t looks = 0;
    for (const Event* event : evidence.each<MemorySample>()) {
        const auto* sample = event->as<MemorySample>();
        used[event->rank] = sample->used;
        if (used.size() < std::max<std::size_t>(ranks, 2) || sample->limit <= 0) continue;
        if (looks++ % ranks == 0) middles = compute_medians(roles, used);  // once a round is often enough
        const std::int64_t middle = middles[roles.of(event->rank)];
        const bool high = sample->used > middle / 2 * 3 && sample->used - middle > sample->limit / 10;
        above[event->rank] = high ? above[event->rank] + 1 : 0;
        if (above[event->rank] < looks_min) continue;
        return {{.symptom = id_of(Symptom::unbalanced_rank_memory),
                 .blame = blame_ranks(evidence.facts<Lives>(), {event->rank}),
                 .at = event->at,
                 .says = fmt::format("the device of rank {} carries {} bytes, the median is {}", event->rank,
                                     sample->used, middle),
                 .causes = {id_of(Cause::memory_placement_or_lifetime_error),
                            id_of(Cause::uneven_work_or_data_partition)}}};
    }
    return {};
}

}  // namespace

Findings unbalanced_memory(const Evidence& evidence) {
    if (auto found = find_foreign_memory(evidence); !found.empty()) return found;
    if (auto found = much_more(evidence); !found.empty()) return found;
    return find_memory_growth(evidence);
}

extern const DetectorRow unbalanced_memory_row{.name = "unbalanced_memory",
                                               .reports = {id_of(Symptom::unbalanced_rank_memory)},
                                               .examine = unbalanced_memory};

extern const Thresholds unbalanced_memory_thresholds{
    {"samples of a rank above the others", looks_min},
    {"rises in a row of what a rank's device holds at least", rises_min},
    {"samples to each", samples_of_a_stair},
    {"the device, of each rise", rise_share},
    {"their sum, of what a peer's memory differs meanwhile", peers_factor * 1000, "‰"}};

}  // namespace deadrank::results::detectors
