// results/detectors/wrong_device.cpp — device.bind says what was asked for and what came of it; two ranks of
// a host on one device show in nothing else.
#include "results/detectors/wrong_device.h"

#include <fmt/format.h>

#include "results/facts/outbreaks.h"

namespace deadrank::results::detectors {

std::vector<Finding> WrongDevice::examine(const Evidence& evidence) const {
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
                 .detector = std::string(name()),
                 .blame = blame_ranks(lives, ranks),
                 .at = at,
                 .says = says,
                 .causes = {"rank_or_device_derivation_error"}}};
    }
    std::vector<Finding> findings;
    for (const Outbreak& outbreak : outbreaks(evidence, Trouble::placement)) {
        findings.push_back(
            finding_of(evidence, outbreak, "wrong_device_used", name(), {"rank_or_device_derivation_error"}));
    }
    return findings;
}

}  // namespace deadrank::results::detectors
