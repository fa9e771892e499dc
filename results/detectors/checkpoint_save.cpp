// results/detectors/checkpoint_save.cpp — Saving failed, or visibly wrote nothing: a write error, or an empty
// file.
#include <fmt/format.h>

#include "results/analysis/complaints.h"
#include "results/detectors/detector.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::detectors {

using scenarios::Cause;
using scenarios::Symptom;

using namespace analysis;

namespace {

std::vector<std::string> save_failure_causes(Code code) {
    if (code == Code::no_space)
        return {id_of(Cause::misconfigured_resource_or_distributed_settings),
                id_of(Cause::non_durable_checkpoint_commit)};
    return {id_of(Cause::hardware_or_link_fault), id_of(Cause::dependency_or_hardware_mismatch)};
}

}  // namespace

Findings checkpoint_save(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    const Event* first = nullptr;
    std::vector<Rank> ranks;
    for (const Event* event : evidence.each<results::CheckpointSave>()) {
        const auto* save = event->as<results::CheckpointSave>();
        if (save->result == Code::ok && save->bytes > 0) continue;
        if (save->result == Code::remote_error) continue;  // the others lost a rank while they saved together
        if (!first) first = event;
        if (lives.same_step<results::CheckpointSave>(*event, *first)) ranks.push_back(event->rank);
    }
    std::vector<Finding> findings;
    if (first) {
        const auto* save = first->as<results::CheckpointSave>();
        const std::string how =
            save->result == Code::ok ? "wrote nothing" : fmt::format("failed with {}", name_of(save->result));
        Finding finding{.symptom = id_of(Symptom::checkpoint_save_failure),
                        .blame = blame_ranks(lives, ranks),
                        .at = first->at,
                        .says = fmt::format("{} {} while saving {}{}", ranks_text(sorted(ranks)), how,
                                            evidence.text(save->path),
                                            save->step < 0 ? "" : fmt::format(" of step {}", save->step)),
                        .causes = save_failure_causes(save->result)};
        finding.blame.step = save->step;
        finding.blame.component = "storage";
        finding.blame.shard = evidence.text(save->path);
        return {finding};
    }
    for (const Outbreak& outbreak : find_outbreaks(evidence, Trouble::saving)) {
        findings.push_back(finding_of(evidence, outbreak, id_of(Symptom::checkpoint_save_failure),
                                      {id_of(Cause::dependency_or_hardware_mismatch)}));
    }
    return findings;
}

extern const DetectorRow checkpoint_save_row{.name = "checkpoint_save",
                                             .reports = {id_of(Symptom::checkpoint_save_failure)},
                                             .examine = checkpoint_save};

}  // namespace deadrank::results::detectors
