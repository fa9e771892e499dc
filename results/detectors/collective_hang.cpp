// results/detectors/collective_hang.cpp — A hang is silence that was watched long enough: three median steps,
// a minute at least.
#include "results/detectors/collective_hang.h"

#include <algorithm>
#include <fmt/format.h>

#include "results/detectors/facts/findings.h"
#include "results/detectors/facts/outbreaks.h"
#include "results/detectors/facts/waits.h"
#include "results/words.h"

namespace deadrank::results::detectors {

namespace {

// When the stuck were last looked at alive: the end of observation, or the moment before somebody ended them.
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

// The later of: the last one began to wait, and the culprits were last heard of.
Time still_since(const Lives& lives, int attempt, const Standstill& found) {
    Time since = found.since;
    for (const Rank culprit : found.culprits) {
        const Life* life = lives.find(attempt, culprit);
        if (life) since = std::max(since, std::min(life->last_seen, life->ended));
    }
    return since;
}

}  // namespace

std::vector<Finding> CollectiveHang::examine(const Evidence& evidence) const {
    const Lives& lives = evidence.facts<Lives>();
    const int attempt = lives.attempts() - 1;
    for (const Time look : last_looks(evidence, lives, attempt)) {
        const Standstill found = Waits(evidence, attempt, look).standstill();
        if (!found.any) continue;
        const Time at = still_since(lives, attempt, found) + lives.hang_after();
        if (at > look) continue;
        Finding finding{.symptom = "collective_deadlock_hang",
                        .detector = std::string(name()),
                        .blame = blame_ranks(lives, found.culprits),
                        .at = at,
                        .says = fmt::format("{}; {} waited for {} and longer", found.why,
                                            ranks_text(found.stuck), duration_text(lives.hang_after())),
                        .causes = {found.cause}};
        finding.blame.collective = name_of(found.last.op);
        const Rank who = found.culprits.empty() ? found.stuck.front() : found.culprits.front();
        finding.blame.step = step_at(evidence, who, look);
        return {finding};
    }
    return {};
}

}  // namespace deadrank::results::detectors
