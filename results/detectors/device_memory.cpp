// results/detectors/device_memory.cpp — An allocation on a device failed; the first rank decides. The sizes
// asked for and free come from the event; without one, from the exception.
#include <fmt/format.h>

#include "results/detectors/detector.h"
#include "results/facts/complaints.h"

namespace deadrank::results::detectors {

namespace {

const MemoryOom* oom_of(const Evidence& evidence, Rank rank, Time at) {
    for (const Event* event : evidence.each<MemoryOom>()) {
        if (event->rank == rank && event->at >= at) return event->as<MemoryOom>();
    }
    return nullptr;
}

}  // namespace

Findings device_memory(const Evidence& evidence) {
    std::vector<Finding> findings;
    for (const Outbreak& outbreak : outbreaks(evidence, Trouble::memory)) {
        const bool alone = outbreak.ranks.size() == 1;
        findings.push_back(finding_of(
            evidence, outbreak, "device_out_of_memory",
            alone
                ? std::vector<std::string>{"unpropagated_rank_failure", "memory_placement_or_lifetime_error"}
                : std::vector<std::string>{"misconfigured_resource_or_distributed_settings",
                                           "memory_placement_or_lifetime_error"}));
        Finding& finding = findings.back();
        finding.blame.component = "memory";
        if (const MemoryOom* oom = oom_of(evidence, outbreak.ranks.front(), outbreak.at)) {
            finding.says = fmt::format("{} asked for {} bytes of device memory where {} were free",
                                       ranks_text(outbreak.ranks), oom->requested, oom->available);
        }
    }
    return findings;
}

extern const DetectorRow device_memory_row{
    .name = "device_memory", .reports = {"device_out_of_memory"}, .examine = device_memory};

}  // namespace deadrank::results::detectors
