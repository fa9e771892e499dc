// results/detectors/wrong_device.cpp — A process computes on another device than the pattern of its peers
// gives it. device.bind says where each process is; no event says where it was meant to be.
#include <fmt/format.h>
#include <map>

#include "results/detectors/detector.h"
#include "results/detectors/shared.h"
#include "results/facts/complaints.h"
#include "results/facts/odd.h"
#include "results/facts/pairs.h"

namespace deadrank::results::detectors {

std::vector<Rank> off_their_local_ranks(const Evidence& evidence, int attempt, const std::vector<Rank>& ranks,
                                        Time until) {
    const PairTables tables(evidence, attempt, PairTables::Of::environment);
    const auto held = [&](Rank rank, const char* name) -> std::string {
        const auto place = static_cast<std::size_t>(rank);
        const Pairs* pairs = place < tables.by_process().size() ? tables.by_process()[place] : nullptr;
        const auto found = pairs ? pairs->find(name) : Pairs::const_iterator();
        return pairs && found != pairs->end() ? std::string(found->second) : "";
    };
    std::map<Rank, std::int32_t> bound;
    for (const Event* event : evidence.each<DeviceBind>())
        if (event->at <= until && evidence.facts<Lives>().attempt_at(event->at) == attempt)
            bound[event->rank] = event->as<DeviceBind>()->device;
    std::vector<Rank> off;
    for (const Rank rank : ranks) {
        // A list of its own numbers the devices anew.
        const std::string local = held(rank, "LOCAL_RANK");
        if (local.empty() || !bound.contains(rank) || !held(rank, "CUDA_VISIBLE_DEVICES").empty()) return {};
        if (local != std::to_string(bound.at(rank))) off.push_back(rank);
    }
    return off;
}

Findings wrong_device(const Evidence& evidence) {
    const std::vector<DevicesInUse::Odd>& odd = evidence.facts<DevicesInUse>().odd();
    if (!odd.empty()) {
        std::vector<Rank> ranks;
        for (const DevicesInUse::Odd& one : odd) ranks.push_back(one.rank);
        const DevicesInUse::Odd& first = odd.front();
        return {
            {.symptom = "wrong_device_used",
             .blame = blame_ranks(evidence.facts<Lives>(), ranks),
             .at = first.at,
             .says = fmt::format("the model of rank {} is on device {}, and by the pattern of its peers it "
                                 "would be on {}",
                                 first.rank, first.device, first.usual),
             .causes = {"rank_or_device_derivation_error"}}};
    }
    std::vector<Finding> findings;
    for (const Outbreak& outbreak : outbreaks(evidence, Trouble::placement)) {
        findings.push_back(
            finding_of(evidence, outbreak, "wrong_device_used", {"rank_or_device_derivation_error"}));
    }
    return findings;
}

extern const DetectorRow wrong_device_row{
    .name = "wrong_device", .reports = {"wrong_device_used"}, .examine = wrong_device};

}  // namespace deadrank::results::detectors
