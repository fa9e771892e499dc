// results/judging/reaction.cpp — First whether the job ended, then how: by an error, whose words
// weigh_words.cpp judges, or by a result, which is compared with the control's.
#include "results/judging/reaction.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <map>
#include <set>
#include <utility>

#include "results/judging/error_texts.h"
#include "results/judging/first_difference.h"
#include "results/judging/given_ranks.h"
#include "results/judging/weigh_words.h"
#include "results/record/subject.h"
#include "results/record/words.h"

namespace deadrank::results {

namespace {

// How the job ended, by launcher and ranks. A restarted rank counts with its last life.
struct Ending {
    std::set<Rank> started, ended, failed;
    std::map<Rank, std::int32_t> node_of;
    bool stopped = false;
    std::int32_t stop_code = 0;
    bool restarted = false, stepped = false, warned = false;
    Time last_exit{0};
    Time progress{0};      // the last step that any rank finished, or the last arrival at the rendezvous
    Time closing = never;  // when the launcher had noticed, and began to ask the other ranks to end

    bool has_failed() const { return !failed.empty() || stop_code != 0; }
};

// How long torchrun waits for a rank after its SIGTERM. Not counted, or two time-outs and this wait would add
// up to a hang.
constexpr Time launchers_patience{30'000'000'000};

void see_log(Ending& ending, const Evidence& evidence, const Event& event, const RankLog& log) {
    ending.warned = ending.warned || log.level >= 1;
    if (event.rank != no_rank) return;
    const bool asks = evidence.text(log.line).find("closing signal") != std::string_view::npos;
    if (asks) ending.closing = std::min(ending.closing, event.at);
}

void see_progress(Ending& ending, Time at) {
    ending.progress = at;
    ending.closing = never;
}

void see(Ending& ending, const Evidence& evidence, const Event& event) {
    if (const auto* start = event.as<RankStart>()) {
        // A replica that its own launcher starts again: the others went on.
        ending.restarted = !ending.started.insert(event.rank).second || ending.restarted;
        ending.ended.erase(event.rank);
        ending.failed.erase(event.rank);
        ending.node_of[event.rank] = start->node;
    } else if (const auto* exit = event.as<RankExit>()) {
        ending.ended.insert(event.rank);
        if (exit->code != 0 || exit->signal != 0) ending.failed.insert(event.rank);
        ending.last_exit = event.at;
    } else if (const auto* stop = event.as<JobStop>()) {
        ending.stopped = true;
        ending.stop_code = stop->code;
        ending.last_exit = event.at;
    } else if (event.as<Restart>()) {
        ending.restarted = true;
        ending.stopped = false;
        ending.stop_code = 0;
    } else if (event.as<StepBegin>()) {
        ending.stepped = true;
    } else if (event.as<ServeOutput>()) {
        ending.stepped = true;
        see_progress(ending, event.at);
    } else if (event.as<StepEnd>() || event.as<RendezvousEnter>()) {
        // Before the rendezvous a rank loads its libraries, for as long as the machine needs.
        see_progress(ending, event.at);
    } else if (const auto* log = event.as<RankLog>()) {
        see_log(ending, evidence, event, *log);
    }
}

Ending ending_of(const Evidence& evidence) {
    Ending ending;
    for (const Event& event : evidence.events()) see(ending, evidence, event);
    return ending;
}

// Whoever failed says why by itself: it did not fail because a node was lost. A complaint about peers, or an
// end without a word, may come of that.
bool failed_by_itself(const Evidence& evidence, const Ending& ending) {
    std::vector<Rank> spoke;
    for (const ErrorText& error : error_texts(evidence)) {
        if (!ending.failed.contains(error.rank)) continue;
        const std::string text = lowered(error.text);
        if (mentions_other_ranks(text) || text.find("failed to pass") != text.npos) return false;
        spoke.push_back(error.rank);
    }
    std::sort(spoke.begin(), spoke.end());
    return std::includes(spoke.begin(), spoke.end(), ending.failed.begin(), ending.failed.end());
}

bool never_ends(const Evidence& evidence, const Ending& ending) {
    if (ending.stopped) return false;
    const bool any_open = ending.ended.size() < ending.started.size();
    const bool may_be_lost = any_open && !ending.failed.empty() && !failed_by_itself(evidence, ending);
    std::set<std::int32_t> reporting;
    for (const Rank rank : ending.ended) {
        if (const auto node = ending.node_of.find(rank); node != ending.node_of.end())
            reporting.insert(node->second);
    }
    return std::any_of(ending.started.begin(), ending.started.end(), [&](Rank rank) {
        if (ending.ended.contains(rank)) return false;
        return !may_be_lost || reporting.contains(ending.node_of.at(rank));
    });
}

// Results are those of ranks (RANK), not of the processes that have them.
struct EndResult {
    struct Step {
        std::int64_t number = -1;
        double loss = 0;
        bool in_last_life = true;  // of its rank
    };
    std::map<Rank, Step> last;
    std::map<std::pair<Rank, std::int64_t>, double> losses;  // by step
    std::int64_t steps = -1;                                 // the last one that any rank ended
    std::map<std::pair<Rank, std::string_view>, std::uint64_t> parameters;
    std::map<std::int64_t, std::multiset<std::string_view>> samples;  // by step, whoever saw them
    std::map<std::pair<Rank, std::int64_t>, std::uint64_t> answers;
    std::int64_t saved = -1;  // the last step of which every shard was saved
};

// Two shards of step 8 and one of two of step 12: 8.
std::int64_t find_last_saved_step(const Evidence& evidence) {
    std::map<std::int64_t, std::set<std::int32_t>> written;
    std::int64_t last = -1;
    for (const Event* event : evidence.each<CheckpointSave>()) {
        const auto* save = event->as<CheckpointSave>();
        if (save->result != Code::ok) continue;
        std::set<std::int32_t>& shards = written[save->step];
        shards.insert(save->shard);
        if (std::ssize(shards) >= save->shards) last = std::max(last, save->step);
    }
    return last;
}

EndResult result_of(const Evidence& evidence) {
    EndResult result;
    result.saved = find_last_saved_step(evidence);
    GivenRanks ranks(evidence);
    const auto rank_of = [&](Rank process) { return ranks.of(process); };
    for (const Event& event : evidence.events()) {
        if (const auto* start = event.as<RankStart>()) {
            ranks.start(event.rank, *start);
            if (const auto before = result.last.find(rank_of(event.rank)); before != result.last.end())
                before->second.in_last_life = false;
        } else if (const auto* step = event.as<StepEnd>()) {
            result.last[rank_of(event.rank)] = {step->step, step->loss};
            result.losses[{rank_of(event.rank), step->step}] = step->loss;
            result.steps = std::max(result.steps, std::int64_t{step->step});
        } else if (const auto* digest = event.as<ParametersDigest>()) {
            result.parameters[{rank_of(event.rank), evidence.text(digest->name)}] = digest->digest;
        } else if (const auto* batch = event.as<DataBatch>()) {
            result.samples[batch->step].insert(evidence.text(batch->samples));
        } else if (const auto* answer = event.as<ServeOutput>()) {
            result.answers[{rank_of(event.rank), answer->request}] = answer->digest;
        }
    }
    return result;
}

bool same_number(double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) || a == b;
}

// Where a job was restarted after its last step, its ranks train no more, and one that was killed as that step ended
// has told the loss of the step before: that is compared. Else the last losses are, whatever their steps are called.
bool ends_with_right_loss(const EndResult& seen, const EndResult& right, Rank rank) {
    const EndResult::Step &last = seen.last.at(rank), &wanted = right.last.at(rank);
    if (same_number(last.loss, wanted.loss)) return true;
    if (last.in_last_life || seen.steps < right.steps) return false;
    const auto there = right.losses.find({rank, last.number});
    return there != right.losses.end() && same_number(last.loss, there->second);
}

// "rank 1 ends with another loss, 0.231 where 0.212 was right"; empty when nothing differs. What a run leaves
// behind is part of its result: a job whose saver swallowed "no space left on device" trained well and for
// nothing.
std::string difference(const EndResult& seen, const EndResult& right, bool restarted) {
    for (const auto& [rank, last] : right.last) {
        const auto found = seen.last.find(rank);
        if (found == seen.last.end()) return fmt::format("rank {} ended without a loss", rank);
        if (!ends_with_right_loss(seen, right, rank))
            return fmt::format("rank {} ends with a loss of {} where {} was right", rank,
                               number_text(found->second.loss, last.loss),
                               number_text(last.loss, found->second.loss));
    }
    for (const auto& [key, digest] : right.parameters) {
        const auto found = seen.parameters.find(key);
        if (found == seen.parameters.end() || found->second != digest)
            return fmt::format("rank {} ends with other {} than the control", key.first, key.second);
    }
    for (const auto& [key, digest] : right.answers) {
        const auto found = seen.answers.find(key);
        if (found == seen.answers.end() || found->second != digest)
            return fmt::format("rank {} answers request {} differently from the control", key.first,
                               key.second);
    }
    if (right.saved >= 0 && seen.saved < 0)
        return fmt::format("it leaves no whole checkpoint, and the control leaves one of step {}",
                           right.saved);
    if (restarted || seen.samples == right.samples) return "";  // a restart repeats some
    const auto [other, own] =
        std::mismatch(seen.samples.begin(), seen.samples.end(), right.samples.begin(), right.samples.end());
    return fmt::format("step {} was trained with other samples than the control's",
                       own != right.samples.end() ? own->first : other->first);
}

std::string seconds(Time time) { return fmt::format("{:.1f} s", static_cast<double>(time.count()) / 1e9); }

class Grading {
public:
    explicit Grading(const Reacting& job) : job_(job), ending_(ending_of(job.evidence)) {
        ended_ = !never_ends(job.evidence, ending_);
        const Time until = job.evidence.observed_until();
        at_ = ended_ ? ending_.last_exit : std::max(until, ending_.last_exit);
        begun_ = std::max(job.fault_at, Time{0});
    }

    Grade all() const {
        Grade grade = by_ending();
        grade.stepped = ending_.stepped;
        grade.restarted = ending_.restarted;
        return grade;
    }

private:
    Grade by_ending() const {
        const Time still = idle_time();
        const bool past = job_.timeout.count() > 0 && still > bound();
        if (!ended_ || (ending_.has_failed() && past)) return hang(still, past);
        return ending_.has_failed() ? error() : completion();
    }

    Time bound() const { return hang_multiple * job_.timeout; }

    Time idle_time() const {
        const Time closed = ended_ && ending_.closing != never
                                ? std::min(at_ - ending_.closing, launchers_patience)
                                : Time{0};
        return at_ - closed - std::max(begun_, ending_.progress);
    }

    Grade hang(Time still, bool past) const {
        Grade grade{.reaction = Reaction::hung, .took = still, .says = {}};
        grade.says =
            fmt::format("{} {} without a step", ended_ ? "ended after" : "watched for", seconds(still));
        if (job_.timeout.count() > 0) {
            grade.says +=
                fmt::format(", {:.1f} times its time-out of {}",
                            static_cast<double>(still.count()) / static_cast<double>(job_.timeout.count()),
                            seconds(job_.timeout));
        }
        const Time waited = waited_between(job_.waiting, at_ - still, at_);
        if (past && still - waited <= bound()) grade.untold = "this machine was too slow for a verdict";
        return grade;
    }

    Grade error() const {
        const Words words = weigh_words(job_);
        Grade grade{.reaction = words.reaction, .took = at_ - begun_, .says = words.says};
        if (grade.reaction == Reaction::clear_error && !ending_.stepped)
            grade.reaction = Reaction::refused_to_start;
        // Whoever looks at the job's code alone, as a scheduler does, takes it for a success.
        const auto stops = job_.evidence.each<JobStop>();
        if (!stops.empty() && stops.back()->as<JobStop>()->code == 0 && ended_with_error(grade.reaction)) {
            grade.reaction = Reaction::misleading_error;
            grade.says += "; and yet the job ended with code 0";
        }
        return grade;
    }

    Grade completion() const {
        Grade grade{.says = "the same result as the control's"};
        if (ending_.restarted) {
            grade = {.reaction = Reaction::restarted,
                     .took = at_ - begun_,
                     .says = "restarted and reached the same result"};
        } else if (ending_.warned) {
            grade.reaction = Reaction::warned_and_completed;
        }
        if (!job_.control) {
            grade.says.clear();
            grade.untold = "there is no control to compare with";
            return grade;
        }
        std::string differs =
            difference(result_of(job_.evidence), result_of(*job_.control), ending_.restarted);
        if (differs.empty()) return grade;
        if (job_.unpromised.empty()) {
            if (ending_.restarted) differs += first_difference_since_restart(job_.evidence, *job_.control);
            return {.reaction = Reaction::silent_wrong_result, .says = differs};
        }
        return {.reaction = Reaction::not_checked,
                .says = fmt::format("{}; nobody promised to compare {}", differs, job_.unpromised)};
    }

    const Reacting& job_;
    Ending ending_;
    bool ended_ = false;
    Time at_{0}, begun_{0};
};

}  // namespace

Grade grade(const Reacting& job) { return Grading(job).all(); }

Grade grade(const Record& run, const Evidence* control, const Blame& culprit, const std::string& per_rank) {
    const Time fault_at = run.truth.first_fault();
    const Subject subject = subject_of(run.evidence);
    // The simulator plays no framework, and what it plays is held to its own scenario.
    const bool promised = subject.name.empty() || subject.compares.contains(per_rank);
    return grade({.evidence = run.evidence,
                  .control = control,
                  .culprit = culprit,
                  .fault_at = fault_at == never ? Time{0} : fault_at,
                  .timeout = subject.timeout,
                  .waiting = run.truth.waiting,
                  .unpromised = promised ? std::string() : per_rank});
}

Time find_settled_time(const Evidence& evidence) {
    if (never_ends(evidence, ending_of(evidence))) return never;
    Time last_restart = never, step_after = never, last_exit = never;
    for (const Event& event : evidence.events()) {
        if (event.as<Restart>()) {
            last_restart = event.at;
            step_after = never;
        }
        if (event.as<StepEnd>() && last_restart != never && step_after == never) step_after = event.at;
        if (event.as<RankExit>() || event.as<JobStop>()) last_exit = event.at;
    }
    return step_after != never ? step_after : last_exit;
}

}  // namespace deadrank::results
