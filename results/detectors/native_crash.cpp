// results/detectors/native_crash.cpp — A process died of a signal that nobody sent on purpose, with no
// exception before it. An abort after a complaint belongs to that complaint.
#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "results/analysis/complaints.h"
#include "results/analysis/step_reached.h"
#include "results/analysis/waits.h"
#include "results/detectors/detector.h"
#include "results/record/codes.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::detectors {

using scenarios::Cause;
using scenarios::Symptom;

using namespace analysis;

namespace {

bool is_crash(int signal) { return signal == 4 || signal == 6 || signal == 7 || signal == 8 || signal == 11; }

bool complained(const Evidence& evidence, int attempt, Rank process) {
    for (const Complaint& complaint : evidence.facts<Complaints>().all()) {
        if (complaint.attempt == attempt && complaint.process == process) return true;
    }
    return false;
}

// Peers of a silently killed rank usually report it when they get stuck or lose their connection. If the
// launcher ended them first, no other rank does.
bool no_peer_reported(const Evidence& evidence, const Lives& lives, int attempt, const Life& killed) {
    bool ended_together = true, others = false;
    for (const Life& life : lives.of(attempt)) {
        if (life.process == killed.process || !life.start) continue;
        if (complained(evidence, attempt, life.process)) return false;
        others = true;
        ended_together &= life.ended != never && life.ended - killed.ended < lives.hang_after();
    }
    return ended_together || !others;
}

// So long must they have waited before they were killed, and this many steps.
constexpr Time waited_min = std::chrono::seconds(1);
constexpr std::int64_t waited_steps = 3;

// Ranks that are killed at once, all of them while they wait for a rank that is there and did not come:
// somebody ended the wait, a peer or an operator, and the absent rank is the one to ask about.
std::optional<Standstill> killed_while_waiting(const Evidence& evidence, const Lives& lives, int attempt,
                                               const std::vector<Rank>& killed, Time at) {
    if (killed.size() < 2) return std::nullopt;
    Standstill found = Waits(evidence, attempt, at - Time{1}).standstill();
    const bool all_waited = std::all_of(killed.begin(), killed.end(), [&](Rank rank) {
        return std::find(found.stuck.begin(), found.stuck.end(), rank) != found.stuck.end();
    });
    const bool all_absent_lived = std::all_of(found.culprits.begin(), found.culprits.end(), [&](Rank rank) {
        const Life* life = lives.find(attempt, rank);
        return life && life->alive_at(at - Time{1});
    });
    if (!found.any || found.kind != Root::absent || !all_waited || !all_absent_lived ||
        at - found.since < std::max(waited_min, waited_steps * lives.median_step()))
        return std::nullopt;
    return found;
}

}  // namespace

Findings native_crash(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    std::vector<Finding> findings;
    for (int attempt = 0; attempt < lives.attempts(); ++attempt) {
        const Life* first = nullptr;
        for (const Life& life : lives.of(attempt)) {
            const bool counts = is_crash(life.signal) || life.signal == 9;
            if (counts && !complained(evidence, attempt, life.process) &&
                (!first || life.ended < first->ended)) {
                first = &life;
            }
        }
        if (!first) continue;
        const auto before = [&](const Life& life) { return life.failed() && life.ended < first->ended; };
        const auto all = lives.of(attempt);
        const bool others_first = std::any_of(all.begin(), all.end(), before);
        if (first->signal == 9 && (others_first || !no_peer_reported(evidence, lives, attempt, *first)))
            continue;
        std::vector<Rank> culprits;
        for (const Life& life : all) {
            const bool same =
                life.signal == first->signal && life.ended - first->ended <= std::chrono::seconds(1);
            if (same && !complained(evidence, attempt, life.process)) culprits.push_back(life.process);
        }
        // A whole node that is gone at once did not crash: the recovery that follows, or its failure, reports
        // it.
        if (first->signal == 9 && culprits.size() > 1 && !lives.whole_nodes(culprits).empty()) continue;
        Finding finding{.symptom = id_of(Symptom::native_crash_or_illegal_access),
                        .blame = blame_ranks(lives, culprits),
                        .at = first->ended,
                        .says = fmt::format("{} died of {} without a word", ranks_text(culprits),
                                            signal_name(first->signal)),
                        .causes = {first->signal == 9 ? id_of(Cause::unpropagated_rank_failure)
                                                      : id_of(Cause::numeric_edge_case_error),
                                   id_of(Cause::hardware_or_link_fault)}};
        if (const auto waited =
                first->signal != 9 ? std::nullopt
                                   : killed_while_waiting(evidence, lives, attempt, culprits, first->ended)) {
            finding.blame = blame_ranks(lives, waited->culprits);
            finding.blame.collective = name_of(waited->last.op);
            finding.says = fmt::format("{}; {} were killed by {} while they waited for it", waited->why,
                                       ranks_text(culprits), signal_name(first->signal));
            culprits = waited->culprits;
        }
        finding.blame.step = step_reached(evidence, culprits.front(), first->ended);
        findings.push_back(std::move(finding));
    }
    for (const Outbreak& outbreak : find_outbreaks(evidence, Trouble::native)) {
        findings.push_back(
            finding_of(evidence, outbreak, id_of(Symptom::native_crash_or_illegal_access),
                       {id_of(Cause::numeric_edge_case_error), id_of(Cause::hardware_or_link_fault)}));
    }
    return findings;
}

extern const DetectorRow native_crash_row{.name = "native_crash",
                                          .reports = {id_of(Symptom::native_crash_or_illegal_access)},
                                          .examine = native_crash};

}  // namespace deadrank::results::detectors
