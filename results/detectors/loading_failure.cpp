// results/detectors/loading_failure.cpp — Model or data could not be loaded, or was silently not loaded, at a
// fresh start: a file that only some ranks find, or weights that never reached the model.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "results/analysis/complaints.h"
#include "results/detectors/detector.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::detectors {

using scenarios::Cause;
using scenarios::Symptom;

using namespace analysis;

namespace {

// The job compared its weights with their file, and they differ.
std::vector<Finding> never_assigned(const Evidence& evidence) {
    std::vector<Rank> ranks;
    const Event* first = nullptr;
    for (const Event* event : evidence.each<ValueSample>()) {
        const auto* sample = event->as<ValueSample>();
        const std::string_view name = evidence.text(sample->name);
        if (!name.starts_with("weights") || std::isnan(sample->expected) || sample->value == sample->expected)
            continue;
        ranks.push_back(event->rank);
        if (!first) first = event;
    }
    if (!first) return {};
    const auto* sample = first->as<ValueSample>();
    return {{.symptom = id_of(Symptom::model_or_data_loading_failure),
             .blame = blame_ranks(evidence.facts<Lives>(), ranks),
             .at = first->at,
             .says = fmt::format("{} of {} is {} where the file has {}", evidence.text(sample->name),
                                 ranks_text(sorted(ranks)), sample->value, sample->expected),
             .causes = {id_of(Cause::incomplete_checkpoint_state)}}};
}

// A checkpoint that is missing at resume is left to checkpoint_integrity.
bool was_checkpoint(const Evidence& evidence, const Outbreak& outbreak) {
    const auto& loads = evidence.each<CheckpointLoad>();
    return std::any_of(loads.begin(), loads.end(), [&](const Event* event) {
        const Code result = event->as<CheckpointLoad>()->result;
        return outbreak.includes(event->rank) && result != Code::ok && result != Code::invalid_argument &&
               event->at <= outbreak.at;
    });
}

}  // namespace

Findings loading_failure(const Evidence& evidence) {
    std::vector<Finding> findings = never_assigned(evidence);
    for (const Outbreak& outbreak : find_outbreaks(evidence, Trouble::loading)) {
        if (was_checkpoint(evidence, outbreak)) continue;
        findings.push_back(finding_of(evidence, outbreak, id_of(Symptom::model_or_data_loading_failure),
                                      {id_of(Cause::misconfigured_resource_or_distributed_settings)}));
    }
    return findings;
}

extern const DetectorRow loading_failure_row{.name = "loading_failure",
                                             .reports = {id_of(Symptom::model_or_data_loading_failure)},
                                             .examine = loading_failure};

}  // namespace deadrank::results::detectors
