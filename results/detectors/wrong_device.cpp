// results/detectors/wrong_device.cpp — Work landed on another device than asked for. device.bind says what
// was asked for and what came of it; two ranks of a host on one device show in nothing else.
#include <fmt/format.h>

#include "results/detectors/detector.h"
#include "results/facts/complaints.h"

namespace deadrank::results::detectors {

Findings wrong_device(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    std::vector<Rank> ranks;
    Time at = never;
    std::string says;
    for (const Event* event : evidence.each<DeviceBind>()) {
        const auto* bind = event->as<DeviceBind>();
        const std::string_view what = evidence.text(bind->what);
        // Memory that lies on a stranger's device is the matter of unbalanced_memory.
        if (bind->requested == bind->actual || what == "weights" || what == "context") continue;
        ranks.push_back(event->rank);
        if (at != never) continue;
        at = event->at;
        says = fmt::format("{} of rank {} was meant for device {} and landed on {}", what, event->rank,
                           bind->requested, bind->actual);
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
