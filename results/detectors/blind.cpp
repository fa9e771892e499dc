// results/detectors/blind.cpp — By the kinds of events that are missing.
#include "results/detectors/blind.h"

#include <algorithm>
#include <set>

namespace deadrank::results {

std::vector<std::string> blind_spots(const Evidence& evidence) {
    std::set<Rank> stepped;
    bool lost = false;
    for (const Event* event : evidence.each<StepEnd>()) {
        stepped.insert(event->rank);
        lost |= event->as<StepEnd>()->loss != 0;
    }
    if (stepped.size() < 2) return {};
    std::vector<std::string> spots;
    if (evidence.each<ParametersDigest>().empty())
        spots.emplace_back(
            "replica_divergence saw no replicas: the program shows none by DistributedDataParallel, DTensor, "
            "DeepSpeed or gradients that it reduces one by one. Where all ranks hold the same, groups = "
            "\"world\" "
            "below [read] of a manifest says so");
    if (evidence.each<DataBatch>().empty())
        spots.emplace_back(
            "sample_coverage saw no samples that the ranks share: no DistributedSampler deals them out. "
            "Where no sample may come twice in an epoch, samples = \"shared\" below [read] of a manifest "
            "says so");
    if (!lost)
        spots.emplace_back("loss_anomaly saw no loss: no backward() of a single number, or it was always 0");
    return spots;
}

}  // namespace deadrank::results
