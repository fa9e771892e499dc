// results/detectors/detect.cpp — Asks every detector that is switched on about one run's evidence, and says
// what none of them could see in it.
#include "results/detectors/detect.h"

#include <algorithm>
#include <exception>
#include <set>

#include "results/detectors/settle.h"

namespace deadrank::results {

// A detector of ours or of a stranger may throw; the others are heard all the same.

namespace {

class RowDetector final : public Detector {
public:
    explicit RowDetector(const DetectorRow& row) : row_(row) {}

    std::string_view name() const override { return row_.name; }
    std::vector<std::string_view> symptoms() const override { return row_.reports; }
    Findings examine(const Evidence& evidence) const override {
        Findings findings = row_.examine(evidence);
        for (Finding& finding : findings) finding.detector = row_.name;
        return findings;
    }

private:
    const DetectorRow& row_;
};

Finding crash(const Detector& detector, const Evidence& evidence, std::string why) {
    return {.symptom = "detector_crashed",
            .detector = std::string(detector.name()),
            .blame = {},
            .at = evidence.observed_until(),
            .says = std::move(why)};
}

}  // namespace

std::unique_ptr<Detector> make_detector(const DetectorRow& row) { return std::make_unique<RowDetector>(row); }

std::vector<Finding> detect(const Evidence& evidence, const Detectors& detectors) {
    std::vector<Finding> all;
    for (const auto& detector : detectors) {
        try {
            for (Finding& finding : detector->examine(evidence)) all.push_back(std::move(finding));
        } catch (const std::exception& problem) {
            all.push_back(crash(*detector, evidence, problem.what()));
        } catch (...) {
            all.push_back(crash(*detector, evidence, "it threw something that is no exception"));
        }
    }
    return settle(std::move(all));
}

// By the kinds of events that are missing.

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
