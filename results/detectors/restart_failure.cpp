// results/detectors/restart_failure.cpp — The job did not recover from a fault by itself: a node is gone, the
// job was asked to leave, attempt after attempt made no progress, or each restart throws away what was done.
#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <set>

#include "results/analysis/checkpoints.h"
#include "results/analysis/complaints.h"
#include "results/analysis/error_quote.h"
#include "results/analysis/findings.h"
#include "results/analysis/setup_words.h"
#include "results/analysis/waits.h"
#include "results/detectors/shared.h"
#include "results/record/codes.h"
#include "results/record/words.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::detectors {

using scenarios::Cause;
using scenarios::Symptom;

using namespace analysis;

namespace {

constexpr int vain_attempts_min = 3;
constexpr std::int64_t saves_known_min = 3;
constexpr std::int64_t saves_apart_factor = 2;

Finding restart_finding(const Lives& lives, std::vector<Rank> ranks, Time at, std::string says,
                        std::string cause) {
    return {.symptom = id_of(Symptom::restart_or_recovery_failure),
            .blame = blame_ranks(lives, std::move(ranks)),
            .at = at,
            .says = std::move(says),
            .causes = {std::move(cause)}};
}

// Another rank had complained of trouble of its own. Exits do not decide: a launcher may end the other ranks
// before any exit is seen, and the failed rank's exit may be seen last.
bool other_rank_had_failed(const Evidence& evidence, const std::vector<Rank>& others, int attempt, Time by) {
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
    if (other_rank_had_failed(evidence, unseen, attempt, stops.back()->at)) return {};
    if (others_ended_well(lives, attempt, unseen)) return {};
    Time last{0}, first_end = never;
    for (const Rank rank : unseen) last = std::max(last, lives.find(attempt, rank)->last_seen);
    for (const Life& life : lives.of(attempt)) first_end = std::min(first_end, life.ended);
    if (last >= first_end) return {};
    Finding found = restart_finding(
        lives, unseen, stops.back()->at,
        fmt::format("node {} was last heard of at {} and no exit of its ranks was seen; the job stopped",
                    ranges_text(nodes), duration_text(last)),
        id_of(Cause::hardware_or_link_fault));
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
    if (other_rank_had_failed(evidence, killed, attempt, first)) return {};
    return {restart_finding(lives, killed, stops.back()->at,
                            fmt::format("all ranks of node {} were killed at {}, and the job ended with them",
                                        ranges_text(nodes), duration_text(first)),
                            id_of(Cause::unpropagated_rank_failure))};
}

// The launcher itself reported a failure, so the job was not asked to end as a whole.
bool launcher_saw_one_fail(const Evidence& evidence, const Lives& lives, int attempt) {
    const auto logs = evidence.each<RankLog>();
    return std::any_of(logs.begin(), logs.end(), [&](const Event* event) {
        const auto text = evidence.text(event->as<RankLog>()->line);
        return event->rank == no_rank && lives.attempt_at(event->at) == attempt &&
               classify_trouble(text) == Trouble::launcher &&
               text.find("closing signal") == std::string_view::npos;
    });
}

// The ranks that ended first, at about the same time and well before the others, which the launcher ended
// because of them.
std::vector<Rank> find_first_ended(const Lives& lives, int attempt, std::vector<Rank> ended) {
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

// The signal that ended it; a shell, and a process that hands on how its child ended, exit with 128 more.
int ending_signal(const Life& life) {
    constexpr int by_signal = 128, highest = 64;
    if (life.signal != 0) return life.signal;
    return life.code > by_signal && life.code <= by_signal + highest ? life.code - by_signal : 0;
}

// A rank had complained, or some had waited for so long that it was a hang: somebody may have ended that.
bool had_trouble_before(const Evidence& evidence, const Lives& lives, int attempt, Time time) {
    const auto& all = evidence.facts<Complaints>().all();
    if (std::any_of(all.begin(), all.end(), [&](const Complaint& one) { return one.attempt == attempt; }))
        return true;
    const Standstill still = Waits(evidence, attempt, time - Time{1}).standstill();
    return still.any && time - still.since >= lives.hang_after();
}

bool ended_well(const Life& life) { return life.start && life.ended != never && !life.failed(); }

// All ranks were asked to leave, or killed at once, and none had failed.
std::vector<Finding> preempted(const Evidence& evidence, const Lives& lives) {
    const auto stops = evidence.each<JobStop>();
    if (stops.empty() || stops.back()->as<JobStop>()->code == 0) return {};
    const int attempt = lives.attempts() - 1;
    std::vector<Rank> ended;
    Time first = never, last{0};
    Rank well = 0;  // as whoever asked the others may have
    bool asked = false;
    for (const Life& life : lives.of(attempt)) {
        well += ended_well(life);
        if (!life.failed()) continue;
        const int signal = ending_signal(life);
        const bool asks = signal == 15 || signal == 2 || signal == 1;  // SIGTERM, SIGINT, SIGHUP
        if (!asks && signal != 9) return {};
        ended.push_back(life.process);
        asked |= asks;
        first = std::min(first, life.ended), last = std::max(last, life.ended);
    }
    if (ended.empty() || static_cast<Rank>(ended.size()) + well != lives.count()) return {};
    const bool one_killed_first = std::any_of(ended.begin(), ended.end(), [&](Rank rank) {
        const Life* life = lives.find(attempt, rank);
        return ending_signal(*life) == 9 && life->ended == first;
    });
    const bool at_once = !asked && ended.size() > 1 && last - first <= std::chrono::seconds(1);
    if (at_once && well == 0 && !had_trouble_before(evidence, lives, attempt, first))
        return {restart_finding(lives, {}, first,
                                fmt::format("all ranks were killed by SIGKILL at {}, and the job did not "
                                            "come back",
                                            duration_text(first)),
                                id_of(Cause::unpropagated_rank_failure))};
    if (!asked || one_killed_first) return {};
    if (launcher_saw_one_fail(evidence, lives, attempt)) {
        auto few = find_first_ended(lives, attempt, ended);
        const bool only_they = few.empty() && well > 0;
        if (only_they) few = sorted(std::move(ended));
        if (!few.empty()) {
            return {restart_finding(lives, few, first,
                                    fmt::format("{} ended {} at {}, {}and the job did not come back",
                                                signal_name(ending_signal(*lives.find(attempt, few.front()))),
                                                ranks_text(few), duration_text(first),
                                                only_they         ? ""
                                                : few.size() == 1 ? "the others ended after it, "
                                                                  : "the others ended after them, "),
                                    id_of(Cause::unpropagated_rank_failure))};
        }
    }
    if (well > 0) return {};
    return {
        restart_finding(lives, {}, first,
                        fmt::format("all ranks were asked to end at {}, and the job did not come back: {}",
                                    duration_text(first), evidence.text(stops.back()->as<JobStop>()->reason)),
                        id_of(Cause::hardware_or_link_fault))};
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

// Which of the ranks that failed within a second is to be named, and what it said.
struct Failure {
    const Life* life = nullptr;
    std::string_view said = {};
};

// Who logged an error before the first of them ended is nearest to the cause: an agent that finds something
// wrong and shuts the others down says so first, and may end after them. Complaints of lost peers are not
// meant.
Failure nearest_failure(const Evidence& evidence, const Lives& lives, int attempt) {
    Failure found{.life = first_failure(lives, attempt)};
    if (!found.life) return found;
    for (const Complaint& one : evidence.facts<Complaints>().first_of_each(attempt))
        if (one.process == found.life->process) found.said = one.text;
    const Time first = found.life->ended;
    for (const Event* event : evidence.each<RankLog>()) {
        if (event->at > first) break;
        const auto* log = event->as<RankLog>();
        if (event->rank < 0 || log->level < 2 || first - event->at > std::chrono::seconds(1)) continue;
        const std::string_view text = evidence.text(log->line);
        const Trouble trouble = classify_trouble(text);
        const Life* life = lives.find(attempt, event->rank);
        const bool of_a_peer = trouble == Trouble::connection || trouble == Trouble::timeout;
        const bool failed_too = life && life->failed() && life->signal != 15 && life->started <= event->at &&
                                life->ended - first <= std::chrono::seconds(1);
        if (!of_a_peer && failed_too) return {life, text};
    }
    return found;
}

// "6/8 clients joined": who says so had waited in vain. Two ranks are missing: those that were not seen on
// their way to the others or, where all of them set out, the two that said nothing and did not end before the
// launcher killed them. The others it ends by SIGTERM, or they end of the store that rank 0 took away with
// it.
std::optional<std::vector<Rank>> find_missing_ranks(const Evidence& evidence, const Lives& lives, int attempt,
                                                    const Life& failed, std::string_view said) {
    const std::int64_t joined = count_joined_clients(said);
    if (joined < 0) return std::nullopt;
    std::set<Rank> set_out, spoke;
    for (const Event* event : evidence.each<RendezvousEnter>())
        if (lives.attempt_at(event->at) == attempt) set_out.insert(event->rank);
    for (const Complaint& one : evidence.facts<Complaints>().first_of_each(attempt))
        spoke.insert(one.process);
    std::vector<Rank> unseen, silent;
    for (const Life& life : lives.of(attempt)) {
        const bool killed_later = life.signal == 9 && life.ended > failed.ended;
        if (!set_out.contains(life.process)) unseen.push_back(life.process);
        if ((life.ended == never || killed_later) && !spoke.contains(life.process))
            silent.push_back(life.process);
    }
    const std::int64_t missing = lives.count() - joined;
    if (std::ssize(unseen) == missing) return unseen;
    if (std::ssize(silent) == missing) return silent;
    return std::vector<Rank>{};
}

// "[rank3]: KeyError: 'a3'" → "KeyError: 'a'"
std::string words_of_error(std::string_view line) {
    if (line.starts_with("[rank")) line.remove_prefix(std::min(line.find("]: "), line.size() - 3) + 3);
    std::string words(line);
    std::erase_if(words, [](unsigned char letter) { return std::isdigit(letter) != 0; });
    return words;
}

// The ranks that failed as this one did: within a second, by themselves, and with the same last words.
std::vector<Rank> failed_alike(const Evidence& evidence, const Lives& lives, int attempt,
                               const Life& failed) {
    const auto words = [&](const Life& life) {
        return words_of_error(last_error_line(evidence, attempt, life.process, life.ended));
    };
    const std::string due = words(failed);
    std::vector<Rank> ranks;
    for (const Life& life : lives.of(attempt)) {
        const bool at_once = life.failed() && life.signal == 0 && life.ended != never &&
                             std::chrono::abs(life.ended - failed.ended) <= std::chrono::seconds(1);
        if (life.process == failed.process || (at_once && !due.empty() && words(life) == due))
            ranks.push_back(life.process);
    }
    return ranks;
}

// The last attempt got no further than those before it.
std::vector<Finding> no_progress(const Evidence& evidence, const Lives& lives) {
    const int last = lives.attempts() - 1;
    if (last == 0) return {};
    std::int64_t before = -1;
    for (int attempt = 0; attempt < last; ++attempt) before = std::max(before, finished_in(lives, attempt));
    const std::int64_t now = finished_in(lives, last);
    if (now > before) return {};
    const auto [failed, said] = nearest_failure(evidence, lives, last);
    if (const auto missing =
            failed ? find_missing_ranks(evidence, lives, last, *failed, said) : std::nullopt) {
        const std::string whom = missing->empty() ? "ranks" : ranks_text(*missing);
        return {restart_finding(
            lives, *missing, failed->ended,
            fmt::format("attempt {} made no step beyond {}: {} did not come back, and rank {} "
                        "waited for them: {}",
                        last, before, whom, failed->process, quoted(said)),
            id_of(Cause::unpropagated_rank_failure))};
    }
    if (failed) {
        const Life* earlier = first_failure(lives, last - 1);
        // Who said something else before its error is nearer to the cause than those that raise alike.
        const std::string_view end = last_error_line(evidence, last, failed->process, failed->ended);
        const bool said_by_traceback =
            said.empty() || said == end ||
            said.find("Traceback (most recent call last)") != std::string_view::npos;
        const std::vector<Rank> ranks = said_by_traceback ? failed_alike(evidence, lives, last, *failed)
                                                          : std::vector<Rank>{failed->process};
        const bool again = earlier && std::count(ranks.begin(), ranks.end(), earlier->process) > 0;
        const std::string_view words = said_by_traceback && !end.empty() ? end : said;
        return {restart_finding(lives, ranks, failed->ended,
                                fmt::format("attempt {} ended {}with {} and no step beyond {}{}", last,
                                            again ? "again " : "", ranks_text(ranks), before,
                                            words.empty() ? "" : fmt::format("; it said: {}", quoted(words))),
                                id_of(Cause::unpropagated_rank_failure))};
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
        still.any ? still.cause : id_of(Cause::unpropagated_rank_failure))};
}

// The steps of an attempt: with which it began, and what was saved whole in it.
struct Span {
    std::int64_t first = -1;
    Time at{0};                               // of the first step's begin
    std::int64_t apart = 0;                   // the most steps between two saves that follow each other
    std::int64_t saves = 0, saved = -1;       // how many, and the latest
    std::optional<std::int64_t> loaded = {};  // which step was read, at its start
    double first_loss = 0, last_loss = 0;     // 0: none was told
};

// Some observers count the steps of a process, which begin anew with each process though the job goes on.
// Then what was loaded has another number, or the loss is nearer to the last one before than to the first.
bool counts_anew(const Span& before, const Span& now) {
    if (now.loaded) return *now.loaded != now.first && *now.loaded != now.first - 1;
    const bool told = before.first_loss != 0 && now.first_loss != 0;
    return told && std::abs(now.first_loss - before.last_loss) < std::abs(now.first_loss - before.first_loss);
}

std::vector<Span> spans_of(const Evidence& evidence, const Lives& lives) {
    std::vector<Span> spans(static_cast<std::size_t>(lives.attempts()));
    for (const Event* event : evidence.each<StepBegin>()) {
        Span& span = spans[static_cast<std::size_t>(lives.attempt_at(event->at))];
        const std::int64_t step = event->as<StepBegin>()->step;
        if (span.first < 0) span.at = event->at;
        if (span.first < 0 || step < span.first) span.first = step;
    }
    for (const Event* event : evidence.each<StepEnd>()) {
        Span& span = spans[static_cast<std::size_t>(lives.attempt_at(event->at))];
        const double loss = event->as<StepEnd>()->loss;
        if (span.first_loss == 0) span.first_loss = loss;
        span.last_loss = loss;
    }
    for (const Event* event : evidence.each<CheckpointLoad>()) {
        const auto* load = event->as<CheckpointLoad>();
        Span& span = spans[static_cast<std::size_t>(lives.attempt_at(event->at))];
        if (load->result == Code::ok && (span.first < 0 || event->at <= span.at)) span.loaded = load->step;
    }
    for (const SavedStep& save : evidence.facts<Checkpoints>().steps()) {
        if (!save.whole()) continue;
        Span& span = spans[static_cast<std::size_t>(save.attempt)];
        if (span.saves++ > 0) span.apart = std::max(span.apart, save.step - span.saved);
        span.saved = std::max(span.saved, save.step);
    }
    return spans;
}

Finding lost_steps(const Lives& lives, Time at, std::string says) {
    Finding found = restart_finding(lives, {}, at, std::move(says),
                                    id_of(Cause::misconfigured_resource_or_distributed_settings));
    found.causes.emplace_back(id_of(Cause::incomplete_checkpoint_state));
    return found;
}

// The job comes back, and each time without what it had done. One restart before the first save is bad luck.
// Told are several in a row that each begin where the attempt before had begun, and one that loses more than
// twice the steps that the job lets pass between two saves.
std::vector<Finding> lost_progress(const Evidence& evidence, const Lives& lives) {
    const std::vector<Span> spans = spans_of(evidence, lives);
    int in_vain = 0;
    std::int64_t lost = 0, saved = -1, apart = 0, saves = 0;
    for (std::size_t attempt = 1; attempt < spans.size(); ++attempt) {
        const Span &before = spans[attempt - 1], &now = spans[attempt];
        saved = std::max(saved, before.saved);
        apart = std::max(apart, before.apart);
        saves += before.saves;
        const std::int64_t done = finished_in(lives, static_cast<int>(attempt) - 1);
        if (now.first < 0 || before.first < 0 || done < before.first) continue;
        if (counts_anew(before, now)) return {};
        const std::int64_t gone = done + 1 - now.first;
        if (saves >= saves_known_min && apart > 0 && saved < now.first && gone > saves_apart_factor * apart)
            return {
                lost_steps(lives, now.at,
                           fmt::format("attempt {} began again at step {} though {} had ended: {} steps were "
                                       "lost, and it saves every {}",
                                       attempt, now.first, done, gone, apart))};
        const bool vain = now.first <= before.first;
        in_vain = vain ? in_vain + 1 : 0;
        lost = vain ? lost + gone : 0;
        if (in_vain >= vain_attempts_min)
            return {
                lost_steps(lives, now.at,
                           fmt::format("{} attempts in a row were in vain, each began again at step {}: {} "
                                       "steps were lost",
                                       in_vain, now.first, lost))};
    }
    return {};
}

}  // namespace

Findings restart_failure(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    if (auto found = lost_node(evidence, lives); !found.empty()) return found;
    if (auto found = no_progress(evidence, lives); !found.empty()) return found;
    if (auto found = killed_node(evidence, lives); !found.empty()) return found;
    if (auto found = preempted(evidence, lives); !found.empty()) return found;
    return lost_progress(evidence, lives);
}

extern const DetectorRow restart_failure_row{.name = "restart_failure",
                                             .reports = {id_of(Symptom::restart_or_recovery_failure)},
                                             .examine = restart_failure};

extern const Thresholds restart_failure_thresholds{
    {"attempts in a row that each begin where the one before had begun", vain_attempts_min},
    {"steps lost by a restart, of those between two saves", saves_apart_factor * 1000, "‰"}};

}  // namespace deadrank::results::detectors
