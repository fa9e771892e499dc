// results/detectors/collective_mismatch.cpp — Ranks met in one collective with different calls: operation,
// count, type, reduction or root. The first mismatch decides; later ones follow from it. It is a hang or a
// time-out instead, unless a checker reported it, if a rank skipped a call and now makes the right calls too
// early, or if operations or sizes differ and no rank ever leaves.
#include <algorithm>
#include <fmt/format.h>

#include "results/analysis/call_disagreement.h"
#include "results/analysis/calls.h"
#include "results/analysis/complaints.h"
#include "results/analysis/numbered_call.h"
#include "results/detectors/shared.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::detectors {

using scenarios::Cause;
using scenarios::Symptom;

using namespace analysis;

namespace {

struct Earliest {
    Time at = never;
    const Communicator* comm = nullptr;
    const Collective* collective = nullptr;
};

// When both of the differing calls had been seen.
Time seen_at(const Collective& collective, const Disagreement& found) {
    Time usual = never, unusual = never;
    for (const Call& call : collective.calls) {
        if (!call.what) continue;
        const bool odd = call.what == found.unusual;
        Time& first = odd ? unusual : usual;
        if (odd || call.what == found.usual) first = std::min(first, call.entered);
    }
    return std::max(usual, unusual);
}

bool no_rank_left(const Collective& collective) {
    return std::none_of(collective.calls.begin(), collective.calls.end(),
                        [](const Call& call) { return call.what && call.left != never; });
}

bool may_differ(const Collective& collective) {
    const CollectiveEnter* first = nullptr;
    for (const Call& call : collective.calls) {
        if (!call.what) continue;
        if (!first) first = call.what;
        const CollectiveEnter& a = *first;
        const CollectiveEnter& b = *call.what;
        if (a.op != b.op || a.dtype != b.dtype || a.reduce != b.reduce || a.root != b.root) return true;
        // Parts of an all-to-all may legitimately differ in size, and a barrier has no size.
        if (a.count != b.count && a.op != Op::all_to_all && a.op != Op::barrier) return true;
    }
    return false;
}

std::vector<std::string> mismatch_causes(const Disagreement& found) {
    if (found.skipped)
        return {id_of(Cause::rank_divergent_control_flow), id_of(Cause::communication_order_divergence)};
    return {id_of(Cause::communication_order_divergence),
            id_of(Cause::misconfigured_resource_or_distributed_settings),
            id_of(Cause::rank_divergent_control_flow)};
}

// For runs in which the calls themselves were not recorded: what the checker printed about them.
Finding finding_from_log(const Evidence& evidence, const Outbreak& said) {
    Finding finding = finding_of(evidence, said, id_of(Symptom::collective_mismatch_error),
                                 {id_of(Cause::communication_order_divergence)});
    if (const OddFingerprint found = find_odd_fingerprint(evidence, said)) {
        const auto step = finding.blame.step;
        finding.blame = blame_ranks(evidence.facts<Lives>(), found.odd);
        finding.blame.step = step;
        finding.says = fmt::format("{} said {} where the others said {}", ranks_text(found.odd),
                                   found.unusual, found.usual);
    }
    return finding;
}

}  // namespace

Findings collective_mismatch(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    const auto spoken = find_outbreaks(evidence, Trouble::mismatch);
    std::vector<Finding> findings;
    for (int attempt = 0; attempt < lives.attempts(); ++attempt) {
        const auto said = std::find_if(spoken.begin(), spoken.end(),
                                       [&](const Outbreak& outbreak) { return outbreak.attempt == attempt; });
        Earliest first;
        Disagreement found;
        for (const Communicator& comm : evidence.facts<Calls>().communicators()) {
            if (comm.attempt != attempt) continue;
            for (const auto& [seq, collective] : comm.collectives) {
                if (!may_differ(collective)) continue;
                const Disagreement odd = find_disagreement(evidence, comm, collective);
                const Time at = odd ? seen_at(collective, odd) : never;
                if (at < first.at) {
                    first = {at, &comm, &collective};
                    found = odd;
                }
                break;  // later calls on this communicator are out of step
            }
        }
        const bool apart =
            found && (found.usual->op != found.unusual->op || found.usual->count != found.unusual->count);
        const bool astray = found && (found.skipped || (apart && no_rank_left(*first.collective)));
        if (said == spoken.end() && (!found || astray)) continue;
        Finding finding;
        finding.symptom = id_of(Symptom::collective_mismatch_error);
        if (found) {
            finding.blame = blame_ranks(lives, found.odd);
            finding.blame.collective = name_of(found.usual->op);
            finding.blame.step = step_at(evidence, found.odd.front(), first.at);
            finding.at = first.at;
            finding.says = fmt::format(
                "{} entered {} with {}", ranks_text(found.odd),
                numbered_call(found.usual->op, first.collective->seq, first.comm->name), found.aspect);
            finding.causes = mismatch_causes(found);
        } else {
            finding = finding_from_log(evidence, *said);
        }
        findings.push_back(std::move(finding));
    }
    return findings;
}

extern const DetectorRow collective_mismatch_row{.name = "collective_mismatch",
                                                 .reports = {id_of(Symptom::collective_mismatch_error)},
                                                 .examine = collective_mismatch};

}  // namespace deadrank::results::detectors
