// results/detectors/detect.cpp — A detector of ours or of a stranger may throw; the others are heard all the
// same.
#include "results/detectors/detect.h"

#include <exception>

#include "results/detectors/settle.h"

namespace deadrank::results {

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

}  // namespace deadrank::results
