// results/detectors/detect.cpp — Runs the detectors on one run's evidence. A detector may throw, our own or a
// third party's; the others still run.
#include <algorithm>
#include <exception>
#include <fmt/format.h>

#include "results/analysis/findings.h"
#include "results/analysis/program_lines.h"
#include "results/detectors/detector.h"
#include "results/detectors/settle.h"
#include "results/detectors/shared.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results {

using scenarios::Cause;

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
            .says = std::move(why),
            .detector_failed = true};
}

// A job that stands still after one of its ranks caught an error: the others were never told of the error.
void name_caught_error(std::vector<Finding>& findings) {
    const auto caught =
        std::find_if(findings.begin(), findings.end(), [](const Finding& one) { return one.outlived; });
    if (caught == findings.end()) return;
    for (Finding& finding : findings) {
        if (!is_standstill(finding) || finding.at < caught->at) continue;
        std::erase(finding.causes, id_of(Cause::unpropagated_rank_failure));
        finding.causes.insert(finding.causes.begin(), id_of(Cause::unpropagated_rank_failure));
        finding.says += fmt::format("; before, {} went on after an error: {}",
                                    analysis::ranks_text(caught->blame.ranks), caught->says);
    }
}

// Where in the user's program the ranks were, as far as their logs show it.
void name_program_lines(std::vector<Finding>& findings, const Evidence& evidence) {
    const auto& lines = evidence.facts<analysis::ProgramLines>();
    for (Finding& finding : findings) {
        const std::string where = analysis::describe_lines(lines, finding.blame.ranks, finding.at);
        if (!where.empty()) finding.says += "; " + where;
    }
}

}  // namespace

std::unique_ptr<Detector> make_detector(const DetectorRow& row) { return std::make_unique<RowDetector>(row); }

namespace {

// An end that says nothing may follow from whatever else was found; only slowness ends no job.
void add_unexplained_end(const Evidence& evidence, const Detectors& detectors,
                         std::vector<Finding>& findings) {
    const bool asked = std::any_of(detectors.begin(), detectors.end(),
                                   [](const auto& one) { return one->name() == "runtime_exception"; });
    const bool explained =
        std::any_of(findings.begin(), findings.end(), [](const Finding& one) { return !is_slowness(one); });
    if (!asked || explained) return;
    auto end = detectors::unexplained_end(evidence);
    if (end && !rests_on_lost_evidence(*end, evidence)) findings.push_back(*std::move(end));
}

}  // namespace

std::vector<Finding> detect(const Evidence& evidence, const Detectors& detectors) {
    std::vector<Finding> all;
    for (const auto& detector : detectors) {
        try {
            for (Finding& finding : detector->examine(evidence)) {
                if (!rests_on_lost_evidence(finding, evidence)) all.push_back(std::move(finding));
            }
        } catch (const std::exception& problem) {
            if (scenarios::is_host_failure(problem)) throw;
            all.push_back(crash(*detector, evidence, problem.what()));
        } catch (...) {
            all.push_back(crash(*detector, evidence, "it threw something other than an exception"));
        }
    }
    add_unexplained_end(evidence, detectors, all);
    std::vector<Finding> kept = settle(std::move(all), evidence.facts<analysis::Lives>());
    name_caught_error(kept);
    name_program_lines(kept, evidence);
    return kept;
}

}  // namespace deadrank::results
