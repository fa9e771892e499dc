// results/detectors/wrong_device.cpp — Work landed on a device that is not the rank's own. device.bind says
// where it landed; the n-th rank of a host owns its n-th device.
#include <fmt/format.h>

#include "results/detectors/detector.h"
#include "results/facts/complaints.h"
#include "results/facts/odd.h"

namespace deadrank::results::detectors {

Findings wrong_device(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    const OwnDevices& devices = evidence.facts<OwnDevices>();
    std::vector<Rank> ranks;
    Time at = never;
    std::string says;
    for (const Event* event : evidence.each<DeviceBind>()) {
        const auto* bind = event->as<DeviceBind>();
        const std::string_view what = evidence.text(bind->what);
        // Memory on another rank's device is left to unbalanced_memory.
        const std::int32_t own = devices.of(event->rank);
        if (own < 0 || own == bind->actual || what == "weights" || what == "context") continue;
        ranks.push_back(event->rank);
        if (at != never) continue;
        at = event->at;
        says = fmt::format("{} of rank {} is on device {}, and its place on the host is {}", what,
                           event->rank, bind->actual, own);
    }
    if (!ranks.empty()) {
        return {{.symptom = "wrong_device_used",
                 .blame = blame_ranks(lives, ranks),
                 .at = at,
                 .says = says,
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
