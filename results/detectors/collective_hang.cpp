// results/detectors/collective_hang.cpp — Some ranks entered a collective and never left it; blame the ranks
// that never came. A hang is silence watched long enough: three median steps, a minute at least.
#include <algorithm>
#include <fmt/format.h>

#include "results/analysis/call_order.h"
#include "results/analysis/complaints.h"
#include "results/analysis/findings.h"
#include "results/analysis/step_reached.h"
#include "results/analysis/waits.h"
#include "results/detectors/shared.h"
#include "results/record/words.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::detectors {

using scenarios::Cause;
using scenarios::Symptom;

using namespace analysis;

namespace {

// When the stuck ranks were last seen alive: at the end of observation, or just before they were killed.
std::vector<Time> last_looks(const Evidence& evidence, const Lives& lives, int attempt) {
    std::vector<Time> looks = {evidence.observed_until()};
    Time ended_from_outside = never;
    for (const Life& life : lives.of(attempt)) {
        if (life.signal == 9 || life.signal == 15)
            ended_from_outside = std::min(ended_from_outside, life.ended);
    }
    if (ended_from_outside != never) looks.push_back(ended_from_outside - Time{1});
    return looks;
}

// When the rank last did something new before the look. To be killed later from outside is nothing that it
// did.
Time find_last_move(const Evidence& evidence, const Life& life, Time look) {
    if (life.moved <= look) return std::min(life.moved, life.ended);
    Time last{0};
    for (const Event& event : evidence.events()) {
        if (event.at > look) break;
        const bool sample = event.as<MemorySample>() || event.as<HostSample>() || event.as<DeviceSample>();
        if (event.rank == life.process && !sample && !event.as<RankLog>()) last = event.at;
    }
    return last;
}

// The later of two moments: the last rank began to wait, and the culprits last did something new.
Time find_hang_start(const Evidence& evidence, int attempt, const Standstill& found, Time look) {
    Time since = found.since;
    for (const Rank culprit : found.culprits) {
        const Life* life = evidence.facts<Lives>().find(attempt, culprit);
        if (life) since = std::max(since, find_last_move(evidence, *life, look));
    }
    return since;
}

bool saves_or_evaluates(const Evidence& evidence, int attempt, Rank rank) {
    const auto aside = [&](const Event& event, Phase phase) {
        return event.rank == rank && evidence.facts<Lives>().attempt_at(event.at) == attempt &&
               (phase == Phase::checkpoint || phase == Phase::evaluate);
    };
    const auto begun = evidence.each<PhaseBegin>();
    const auto ended = evidence.each<PhaseEnd>();
    return std::count_if(begun.begin(), begun.end(), [&](const Event* one) {
               return aside(*one, one->as<PhaseBegin>()->phase);
           }) > std::count_if(ended.begin(), ended.end(), [&](const Event* one) {
               return aside(*one, one->as<PhaseEnd>()->phase);
           });
}

// All steps are done, but ranks do not exit: they wait at the store for their peers. Blame the ranks that
// never came there; if all came, the store itself.
std::vector<Finding> find_stuck_at_exit(const Evidence& evidence, const Lives& lives, int attempt) {
    const auto leaving = find_leavings(evidence, attempt);
    std::vector<Rank> stuck, came;
    Time at{0};
    for (const Leaving& one : leaving) {
        came.push_back(one.process);
        const Time until = std::min(one.left, evidence.observed_until());
        if (until - one.entered < lives.hang_after()) continue;
        stuck.push_back(one.process);
        at = std::max(at, one.entered + lives.hang_after());
    }
    if (stuck.empty()) return {};
    came = sorted(std::move(came));
    std::vector<Rank> missing;
    for (Rank rank = 0; rank < evidence.world_size(); ++rank) {
        if (!std::binary_search(came.begin(), came.end(), rank)) missing.push_back(rank);
    }
    Finding finding{
        .symptom = id_of(Symptom::collective_deadlock_hang),
        .blame = blame_ranks(lives, missing),
        .at = at,
        .says = fmt::format("{} ended the last step, and waited {} and longer to leave the process group{}",
                            ranks_text(sorted(stuck)), duration_text(lives.hang_after()),
                            missing.empty() ? ", though all had come" : ", for " + ranks_text(missing)),
        .causes = {missing.empty() ? id_of(Cause::rendezvous_store_or_endpoint_error)
                                   : id_of(Cause::rank_divergent_control_flow)}};
    finding.blame.component = missing.empty() ? "store" : "";
    return {finding};
}

// A rank that exports or uploads what was trained does so alone, when the others have gone, and often in
// silence.
constexpr Time alone_at_the_end = std::chrono::minutes(10);

// All others have ended as they should, and these are silent: in a wait that no call shows, for a child or a
// thread of their own. Saving or evaluating alone may take longer still.
std::vector<Finding> find_unending_ranks(const Evidence& evidence, const Lives& lives, int attempt) {
    if (!evidence.each<JobStop>().empty()) return {};
    std::vector<Rank> left;
    std::size_t ended = 0;
    Time since{0};
    for (const Life& life : lives.of(attempt)) {
        if (!life.start) continue;
        if (life.failed()) return {};
        const bool over = life.ended != never;
        over ? ++ended : (left.push_back(life.process), 0U);
        since = std::max(since, over ? life.ended : life.moved);
    }
    const Time silent = std::max(lives.hang_after(), alone_at_the_end), at = since + silent;
    if (left.empty() || left.size() > ended || at > evidence.observed_until()) return {};
    for (const Event* event : evidence.each<EvidenceLost>())
        if (std::find(left.begin(), left.end(), event->rank) != left.end()) return {};
    for (const Rank rank : left)
        if (saves_or_evaluates(evidence, attempt, rank)) return {};
    Finding finding{
        .symptom = id_of(Symptom::collective_deadlock_hang),
        .blame = blame_ranks(lives, left),
        .at = at,
        .says = fmt::format("{} had not ended {} after all others had, and waited in no call",
                            ranks_text(left), duration_text(silent)),
        .causes = {id_of(Cause::rank_divergent_control_flow), id_of(Cause::misused_framework_api)}};
    finding.blame.step = step_reached(evidence, left.front(), at);
    return {finding};
}

}  // namespace

Findings collective_hang(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    const int attempt = lives.attempts() - 1;
    for (const Time look : last_looks(evidence, lives, attempt)) {
        const Standstill found = Waits(evidence, attempt, look).standstill();
        if (!found.any) continue;
        const Time at = find_hang_start(evidence, attempt, found, look) + lives.hang_after();
        if (at > look) continue;
        Finding finding{.symptom = id_of(Symptom::collective_deadlock_hang),
                        .blame = blame_ranks(lives, found.culprits),
                        .at = at,
                        .says = fmt::format("{}; {} waited for {} and longer", found.why,
                                            ranks_text(found.victims()), duration_text(lives.hang_after())),
                        .causes = found.causes()};
        if (found.last.op != Op::none) finding.blame.collective = name_of(found.last.op);
        const Rank who = found.culprits.empty() ? found.stuck.front() : found.culprits.front();
        finding.blame.step = step_reached(evidence, who, look);
        if (found.call_skipped && found.last.collective) {
            if (const auto step = find_step_of_missing_call(evidence, *found.last.comm, found.culprits, look))
                finding.blame.step = step;
        }
        return {finding};
    }
    if (auto stuck = find_stuck_at_exit(evidence, lives, attempt); !stuck.empty()) return stuck;
    return find_unending_ranks(evidence, lives, attempt);
}

extern const DetectorRow collective_hang_row{.name = "collective_hang",
                                             .reports = {id_of(Symptom::collective_deadlock_hang)},
                                             .examine = collective_hang};

}  // namespace deadrank::results::detectors
