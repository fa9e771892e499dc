// results/detectors/restart_failure.cpp — The job did not recover from a fault by itself: a node is gone, the
// job was asked to leave, or attempt after attempt made no progress.
#include <algorithm>
#include <fmt/format.h>

#include "results/detectors/detector.h"
#include "results/facts/complaints.h"
#include "results/facts/findings.h"
#include "results/facts/waits.h"
#include "results/text/words.h"

namespace deadrank::results::detectors {

namespace {

Finding restart_finding(const Lives& lives, std::vector<Rank> ranks, Time at, std::string says,
                        std::string cause) {
    return {.symptom = "restart_or_recovery_failure",
            .blame = blame_ranks(lives, std::move(ranks)),
            .at = at,
            .says = std::move(says),
            .causes = {std::move(cause)}};
}

// Another rank had complained of trouble of its own. Exits do not decide: a launcher may end the other ranks
// before any exit is seen, and the failed rank's exit may be seen last.
bool somebody_had_failed(const Evidence& evidence, const std::vector<Rank>& others, int attempt, Time by) {
    const auto& all = evidence.facts<Complaints>().all();
    return std::any_of(all.begin(), all.end(), [&](const Complaint& one) {
        const bool own = one.trouble != Trouble::connection && one.trouble != Trouble::timeout &&
                         one.trouble != Trouble::setup;
        const bool other = std::count(others.begin(), others.end(), one.process) == 0;
        return own && other && one.attempt == attempt && one.at <= by;
    });
}

// The rest went on without them to its end, as an elastic job does.
bool others_ended_well(const Lives& lives, int attempt, const std::vector<Rank>& lost) {
    const auto all = lives.of(attempt);
    return std::all_of(all.begin(), all.end(), [&](const Life& life) {
        const bool is_lost = std::count(lost.begin(), lost.end(), life.process) > 0;
        return is_lost || !life.start || (life.ended != never && life.signal == 0 && life.code == 0);
    });
}

// The launcher saw the job end, but no exit was seen of any process of some node. A node that was heard of
// after another rank had ended was not lost: the launcher ended its ranks before they could report it.
std::vector<Finding> lost_node(const Evidence& evidence, const Lives& lives) {
    const auto stops = evidence.each<JobStop>();
    if (stops.empty() || lives.nodes() < 2) return {};
    const int attempt = lives.attempt_at(stops.back()->at);
    std::vector<Rank> unseen;
    for (const Life& life : lives.of(attempt)) {
        if (life.start && life.ended == never) unseen.push_back(life.process);
    }
    const auto nodes = lives.whole_nodes(unseen);
    if (nodes.empty() || static_cast<int>(nodes.size()) == lives.nodes()) return {};
    if (somebody_had_failed(evidence, unseen, attempt, stops.back()->at)) return {};
    if (others_ended_well(lives, attempt, unseen)) return {};
    Time last{0}, first_end = never;
    for (const Rank rank : unseen) last = std::max(last, lives.find(attempt, rank)->last_seen);
    for (const Life& life : lives.of(attempt)) first_end = std::min(first_end, life.ended);
    if (last >= first_end) return {};
    Finding found = restart_finding(
        lives, unseen, stops.back()->at,
        fmt::format("node {} was last heard of at {} and no exit of its ranks was seen; the job stopped",
                    ranges_text(nodes), duration_text(last)),
        "hardware_or_link_fault");
    found.blame.component = "node";
    return {found};
}

// All processes of one node were killed within a second, nothing else had failed, and the job ended: that
// node's agent went down, and the rest could not go on without it.
std::vector<Finding> killed_node(const Evidence& evidence, const Lives& lives) {
    const auto stops = evidence.each<JobStop>();
    if (stops.empty() || stops.back()->as<JobStop>()->code == 0 || lives.nodes() < 2) return {};
    const int attempt = lives.attempts() - 1;
    Time first = never;
    for (const Life& life : lives.of(attempt)) {
        if (life.failed()) first = std::min(first, life.ended);
    }
    std::vector<Rank> killed;
    for (const Life& life : lives.of(attempt)) {
        if (!life.failed() || life.ended - first > std::chrono::seconds(1)) continue;
        if (life.signal == 9) killed.push_back(life.process);
        if (life.signal != 9 && life.signal != 15) return {};
    }
    const auto nodes = lives.whole_nodes(killed);
    if (killed.size() < 2 || nodes.size() != 1) return {};
    if (somebody_had_failed(evidence, killed, attempt, first)) return {};
    return {restart_finding(lives, killed, stops.back()->at,
                            fmt::format("all ranks of node {} were killed at {}, and the job ended with them",
                                        ranges_text(nodes), duration_text(first)),
                            "unpropagated_rank_failure")};
}

// The launcher itself reported a failure, so the job was not asked to end as a whole.
bool launcher_saw_one_fail(const Evidence& evidence, const Lives& lives, int attempt) {
    const auto logs = evidence.each<RankLog>();
    return std::any_of(logs.begin(), logs.end(), [&](const Event* event) {
        const auto text = evidence.text(event->as<RankLog>()->line);
        return event->rank == no_rank && lives.attempt_at(event->at) == attempt &&
               trouble_in(text) == Trouble::launcher && text.find("closing signal") == std::string_view::npos;
    });
}

// The ranks that ended first, at about the same time and well before the others, which the launcher ended
// because of them.
std::vector<Rank> asked_first(const Lives& lives, int attempt, std::vector<Rank> ended) {
    const auto end_of = [&](Rank rank) { return lives.find(attempt, rank)->ended; };
    std::sort(ended.begin(), ended.end(), [&](Rank a, Rank b) { return end_of(a) < end_of(b); });
    std::size_t first_of_others = 0;
    Time gap{0};
    for (std::size_t i = 1; i < ended.size(); ++i) {
        const Time here = end_of(ended[i]) - end_of(ended[i - 1]);
        if (here > gap) first_of_others = i;
        gap = std::max(gap, here);
    }
    if (gap < std::chrono::milliseconds(20)) return {};
    const Time spread = end_of(ended[first_of_others - 1]) - end_of(ended.front());
    if (gap < 4 * spread) return {};
    ended.resize(first_of_others);
    return sorted(std::move(ended));
}

// All ranks were asked to leave, and none had failed.
std::vector<Finding> preempted(const Evidence& evidence, const Lives& lives) {
    const auto stops = evidence.each<JobStop>();
    if (stops.empty() || stops.back()->as<JobStop>()->code == 0) return {};
    const int attempt = lives.attempts() - 1;
    std::vector<Rank> ended;
    for (const Life& life : lives.of(attempt)) {
        if (!life.failed()) continue;
        if (life.signal != 15 && life.signal != 9) return {};
        ended.push_back(life.process);
    }
    const bool all = static_cast<Rank>(ended.size()) == lives.count() && !ended.empty();
    const bool asked = std::any_of(lives.of(attempt).begin(), lives.of(attempt).end(),
                                   [](const Life& life) { return life.signal == 15; });
    Time first = never;
    for (const Rank rank : ended) first = std::min(first, lives.find(attempt, rank)->ended);
    const Life* leader = ended.empty() ? nullptr : lives.find(attempt, ended.front());
    const bool one_killed_first = std::any_of(ended.begin(), ended.end(), [&](Rank rank) {
        const Life* life = lives.find(attempt, rank);
        return life->signal == 9 && life->ended == first;
    });
    if (!all || !asked || !leader || one_killed_first) return {};
    if (launcher_saw_one_fail(evidence, lives, attempt)) {
        if (const auto few = asked_first(lives, attempt, ended); !few.empty()) {
            return {restart_finding(
                lives, few, first,
                fmt::format("{} {} asked to end at {}, the launcher ended the others, and the job did not "
                            "come back",
                            ranks_text(few), few.size() == 1 ? "was" : "were", duration_text(first)),
                "unpropagated_rank_failure")};
        }
    }
    return {
        restart_finding(lives, {}, first,
                        fmt::format("all ranks were asked to end at {}, and the job did not come back: {}",
                                    duration_text(first), evidence.text(stops.back()->as<JobStop>()->reason)),
                        "hardware_or_link_fault")};
}

std::int64_t finished_in(const Lives& lives, int attempt) {
    std::int64_t step = -1;
    for (const Life& life : lives.of(attempt)) step = std::max(step, life.finished);
    return step;
}

// The process that failed first in that attempt.
const Life* first_failure(const Lives& lives, int attempt) {
    const Life* first = nullptr;
    for (const Life& life : lives.of(attempt)) {
        const bool earlier = life.failed() && life.signal != 15 && (!first || life.ended < first->ended);
        if (earlier) first = &life;
    }
    return first;
}

// What that process complained of, so that nobody has to search for the traceback.
std::string last_words(const Evidence& evidence, int attempt, Rank process) {
    const auto first = evidence.facts<Complaints>().first_of_each(attempt);
    const auto own = std::find_if(first.begin(), first.end(),
                                  [&](const Complaint& one) { return one.process == process; });
    return own == first.end() ? std::string() : fmt::format("; it said: {}", heart_of(own->text));
}

// The last attempt got no further than those before it.
std::vector<Finding> no_progress(const Evidence& evidence, const Lives& lives) {
    const int last = lives.attempts() - 1;
    if (last == 0) return {};
    std::int64_t before = -1;
    for (int attempt = 0; attempt < last; ++attempt) before = std::max(before, finished_in(lives, attempt));
    const std::int64_t now = finished_in(lives, last);
    if (now > before) return {};
    const Life* failed = first_failure(lives, last);
    if (failed) {
        const Life* earlier = first_failure(lives, last - 1);
        const bool again = earlier && earlier->process == failed->process;
        return {restart_finding(lives, {failed->process}, failed->ended,
                                fmt::format("attempt {} ended {}with rank {} and no step beyond {}{}", last,
                                            again ? "again " : "", failed->process, before,
                                            last_words(evidence, last, failed->process)),
                                "unpropagated_rank_failure")};
    }
    const bool all_done = std::all_of(lives.of(last).begin(), lives.of(last).end(),
                                      [](const Life& life) { return life.ended != never; });
    Time heard = lives.begins(last);
    for (const Life& life : lives.of(last)) heard = std::max(heard, life.last_seen);
    const Time at = heard + lives.hang_after();
    if (all_done || at > evidence.observed_until()) return {};
    const Standstill still = Waits(evidence, last, evidence.observed_until()).standstill();
    return {restart_finding(
        lives, still.culprits, at,
        fmt::format("attempt {} made no step in {}; {}", last, duration_text(lives.hang_after()),
                    still.any ? still.why : "it never got to its first call"),
        still.any ? still.cause : "unpropagated_rank_failure")};
}

}  // namespace

Findings restart_failure(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    if (auto found = lost_node(evidence, lives); !found.empty()) return found;
    if (auto found = no_progress(evidence, lives); !found.empty()) return found;
    if (auto found = killed_node(evidence, lives); !found.empty()) return found;
    return preempted(evidence, lives);
}

extern const DetectorRow restart_failure_row{
    .name = "restart_failure", .reports = {"restart_or_recovery_failure"}, .examine = restart_failure};

}  // namespace deadrank::results::detectors
