// results/detectors/unseen.cpp — What no detector could see in one run's evidence, and which findings rest on
// evidence that was lost.
#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "results/detectors/detector.h"
#include "results/text/words.h"

namespace deadrank::results {

// Derived from the kinds of events that are missing.

std::vector<std::string> blind_spots(const Evidence& evidence) {
    std::set<Rank> stepped;
    bool lost = false;
    for (const Event* event : evidence.each<StepEnd>()) {
        stepped.insert(event->rank);
        lost |= event->as<StepEnd>()->loss != 0;
    }
    std::vector<std::string> spots;
    if (stepped.empty() && !evidence.each<CollectiveEnter>().empty())
        spots.emplace_back(
            "straggler, low_throughput, loss_anomaly, sample_coverage and replica_divergence saw no step: no "
            "optimizer of torch.optim took one. Where the program prints its steps, step = \"a pattern\" "
            "below [read] of a manifest finds them");
    if (stepped.size() < 2) return spots;
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

std::vector<std::string> lost_evidence(const Evidence& evidence) {
    std::vector<std::string> sentences;
    for (const Event* event : evidence.each<EvidenceLost>()) {
        sentences.push_back(fmt::format("evidence is missing: of rank {} there is none after {}: {}",
                                        event->rank, duration_text(event->at),
                                        evidence.text(event->as<EvidenceLost>()->why)));
    }
    return sentences;
}

// A finding that blames nobody is about all ranks.
bool rests_on_lost_evidence(const Finding& finding, const Evidence& evidence) {
    const std::vector<Rank>& blamed = finding.blame.ranks;
    const auto lost = evidence.each<EvidenceLost>();
    return std::any_of(lost.begin(), lost.end(), [&](const Event* event) {
        const bool its = std::find(blamed.begin(), blamed.end(), event->rank) != blamed.end();
        return (its || blamed.empty()) && finding.at >= event->at;
    });
}

}  // namespace deadrank::results
