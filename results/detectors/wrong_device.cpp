// results/detectors/wrong_device.cpp — A process computes on another device than the pattern of its peers
// gives it. device.bind says where each process is; no event says where it was meant to be.
#include <fmt/format.h>

#include "results/detectors/detector.h"
#include "results/facts/complaints.h"
#include "results/facts/odd.h"

namespace deadrank::results::detectors {

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
