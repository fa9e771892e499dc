// results/detectors/straggler.cpp — One rank, fixed or rotating, is late and the others wait. Only a rank's
// own time counts, not its waiting, and only beyond the job's usual scatter from step to step. Fixed: late in
// four steps in a row; where that is so little that losing a processor once explains it, late by far in six
// steps in which no rank lost its own. Where nothing tells what others do beside their receives: late even if
// they worked all that time, or later than it was itself. Rotating: most of eight steps have a late rank, at
// least three different ones. Paused: a single stop of ten steps and ten seconds.
#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "results/analysis/complaints.h"
#include "results/analysis/findings.h"
#include "results/analysis/meetings.h"
#include "results/analysis/paces.h"
#include "results/analysis/stops.h"
#include "results/detectors/detector.h"
#include "results/detectors/shared.h"
#include "results/record/words.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::detectors {

using scenarios::Cause;
using scenarios::Symptom;

using namespace analysis;

namespace {

constexpr int straggler_streak_min = 4;
constexpr std::int64_t straggler_slow_permille = 1080;  // of the median's own time
constexpr std::int64_t slow_stage_permille = 1300;      // pipeline stages may legitimately differ
constexpr std::int64_t rotating_permille = 1200;
constexpr std::size_t window = 8;
constexpr std::size_t window_slow_min = 5;
constexpr std::ptrdiff_t starved_steps = 2;  // of a window: the machine has fewer processors than work
// Any process may lose its processor for one time slice of the scheduler.
constexpr Time late_min = std::chrono::milliseconds(5);
constexpr std::int64_t scatter_factor = 3;  // times the usual difference between consecutive steps of a rank
constexpr std::size_t scatter_steps = 32;
constexpr std::ptrdiff_t habit_min = 3;  // steps of a rank before they tell what is usual for it
// Of a rank that is late by less than a time slice: it must be known that no rank waited for a processor.
constexpr int short_streak_min = 6;
constexpr std::int64_t short_permille = 2000;
constexpr Time short_late_min = std::chrono::milliseconds(1);
constexpr std::int64_t short_share = 4;      // that part of the whole step is lost
constexpr std::int64_t profile_steps = 6;    // up to the one in which a rank says so
constexpr std::size_t profiled_max = 12;     // steps in all
constexpr std::int64_t disturbed_share = 4;  // a wait for a processor of that part of the delay explains it

std::int64_t permille(Time part, Time whole) {
    return whole > Time{0} ? part.count() * 1000 / whole.count() : 1000;
}

// Counts only if it delays the whole step.
bool slow(const Pace& pace, Time usual, const StepPace& step, std::int64_t limit, Time scatter) {
    const Time late = pace.own - usual - pace.starved();  // time without a processor is not the rank's own
    return permille(pace.own - pace.starved(), usual) >= limit && late * 50 >= step.whole &&
           late >= late_min && late >= scatter_factor * scatter;
}

enum class Late { no, yes, unclear };

Late classify_lateness(const Pace& pace, const StepPace& step, Time scatter) {
    const Time late = pace.own - step.own - pace.starved();
    if (step.starved * disturbed_share > std::max(late, short_late_min)) return Late::unclear;
    const bool by_far = permille(pace.own - pace.starved(), step.own) >= short_permille &&
                        late >= short_late_min && late * short_share >= step.whole &&
                        late >= scatter_factor * scatter;
    return by_far ? Late::yes : Late::no;
}

// How much a rank's own time usually differs from one step to the next. A slow rank's differs no more than
// the others' do.
class Scatter {
public:
    void add(const StepPace& step) {
        std::vector<Time> differences;
        for (const Pace& pace : step.ranks) {
            const auto [last, fresh] = last_.try_emplace(pace.process, pace.own);
            if (!fresh)
                differences.push_back(pace.own > last->second ? pace.own - last->second
                                                              : last->second - pace.own);
            last->second = pace.own;
        }
        if (differences.empty()) return;
        seen_.push_back(lower_median(std::move(differences)));
        if (seen_.size() > scatter_steps) seen_.pop_front();
    }
    Time usual() const { return lower_median({seen_.begin(), seen_.end()}); }
    void forget() { last_.clear(), seen_.clear(); }

private:
    std::map<Rank, Time> last_;
    std::deque<Time> seen_;
};

// A rank may say in its log that it profiles itself, or writes a trace. That slows some steps down and is
// over soon. A profiler that runs on is told, and so is a rank that says nothing.
class Profiled {
public:
    explicit Profiled(const Evidence& evidence) {
        for (const Event* event : evidence.each<RankLog>()) {
            const auto* log = event->as<RankLog>();
            if (event->rank < 0 || log->level > 1 || !reports_profile(lowered(evidence.text(log->line))))
                continue;
            const auto step = step_at(evidence, event->rank, event->at);
            std::set<std::int64_t>& steps = steps_[event->rank];
            for (std::int64_t one = 0; step && one < profile_steps && steps.size() < profiled_max; ++one)
                steps.insert(*step - one);
        }
    }
    bool has(Rank rank, std::int64_t step) const {
        const auto found = steps_.find(rank);
        return found != steps_.end() && found->second.contains(step);
    }

private:
    static bool reports_profile(const std::string& line) {
        return has_any(line, {"profil"}) || (has_any(line, {"trace"}) && !has_any(line, {"traceback"}) &&
                                             has_any(line, {"export", "writ", "wrote", "saved"}));
    }
    std::map<Rank, std::set<std::int64_t>> steps_;
};

Finding straggler_finding(const Evidence& evidence, std::vector<Rank> ranks, const StepPace& step,
                          std::string says, std::vector<std::string> causes) {
    Finding found{.symptom = id_of(Symptom::straggler_step_time_skew),
                  .blame = blame_ranks(evidence.facts<Lives>(), std::move(ranks)),
                  .at = step.ended,
                  .says = std::move(says),
                  .causes = std::move(causes)};
    found.blame.step = step.step;
    return found;
}

class Observation {
public:
    Observation(const Evidence& evidence, const Paces& paces, const Profiled& profiled,
                std::vector<Stop> stops)
        : evidence_(evidence),
          profiled_(profiled),
          stops_(std::move(stops)),
          limit_(paces.pipelined() ? slow_stage_permille : straggler_slow_permille),
          pipelined_(paces.pipelined()),
          short_steps_(paces.has_starvation_data() && !paces.pipelined()) {}

    std::vector<Finding> look_at(const StepPace& step) {
        if (step.attempt != attempt_) {
            attempt_ = step.attempt;
            streaks_.clear();
            short_streaks_.clear();
            slowest_.clear();
            starved_.clear();
            scatter_.forget();
            habits_.clear();
        }
        if (step.first || step.ranks.size() < 2) return {};
        scatter_.add(step);
        if (auto found = pause(step); !found.empty()) return found;
        const Time scatter = scatter_.usual();
        const auto is_late = [&](const Pace& pace) {
            const bool late =
                slow(pace, step.own, step, limit_, scatter) && is_clearly_late(pace, step, scatter);
            if (!late && pipelined_) keep(habits_[pace.process], pace.own);
            return late ? Late::yes : Late::no;
        };
        if (auto found = fixed(step, streaks_, straggler_streak_min, is_late); !found.empty()) return found;
        const auto is_far_behind = [&](const Pace& pace) { return classify_lateness(pace, step, scatter); };
        if (auto found = short_steps_ ? fixed(step, short_streaks_, short_streak_min, is_far_behind)
                                      : std::vector<Finding>();
            !found.empty())
            return found;
        return rotating(step, scatter);
    }

private:
    static void keep(std::vector<Time>& before, Time own) {
        if (before.size() < scatter_steps) before.push_back(own);
    }

    // Later than the others could have been, or than it was itself.
    bool is_clearly_late(const Pace& pace, const StepPace& step, Time scatter) {
        if (step.at_most == step.own || slow(pace, step.at_most, step, limit_, scatter)) return true;
        const std::vector<Time>& before = habits_[pace.process];
        return std::ssize(before) >= habit_min && slow(pace, lower_median(before), step, limit_, scatter);
    }

    using Streaks = std::map<Rank, std::pair<int, std::int64_t>>;  // how long, since which step

    std::vector<Finding> pause(const StepPace& step) const {
        const auto stop = std::find_if(stops_.begin(), stops_.end(), [&](const Stop& one) {
            return one.attempt == step.attempt && one.step == step.step &&
                   !profiled_.has(one.process, one.step);
        });
        if (stop == stops_.end()) return {};
        return {straggler_finding(
            evidence_, {stop->process}, step,
            stop->for_all()
                ? fmt::format("rank {} took {} in step {} for what it does for all, where {} is usual",
                              stop->process, duration_text(stop->whole), step.step,
                              duration_text(stop->usual))
                : fmt::format("rank {} stood still for {} in step {} while the others waited", stop->process,
                              duration_text(stop->lasted), step.step),
            {id_of(Cause::rank_local_slowdown), id_of(Cause::hardware_or_link_fault)})};
    }

    template <class IsLate>
    std::vector<Finding> fixed(const StepPace& step, Streaks& streaks, int least, const IsLate& is_late) {
        std::vector<Rank> ranks;
        Time worst{0};
        for (const Pace& pace : step.ranks) {
            auto& [streak, since] = streaks[pace.process];
            const Late late = profiled_.has(pace.process, step.step) ? Late::unclear : is_late(pace);
            if (late == Late::unclear) continue;
            if (late == Late::no) {
                streak = 0;
                continue;
            }
            if (streak++ == 0) since = step.step;
            if (streak >= least) {
                ranks.push_back(pace.process);
                worst = std::max(worst, pace.own);
            }
        }
        if (ranks.empty()) return {};
        const std::int64_t since = streaks[ranks.front()].second;
        Finding found = straggler_finding(
            evidence_, ranks, step,
            fmt::format("{} took {} of work per step, {} % of the median's {}, since step {}",
                        ranks_text(ranks), duration_text(worst), permille(worst, step.own) / 10,
                        duration_text(step.own), since),
            pipelined_ ? std::vector<std::string>{id_of(Cause::uneven_work_or_data_partition),
                                                  id_of(Cause::rank_local_slowdown)}
                       : std::vector<std::string>{id_of(Cause::rank_local_slowdown),
                                                  id_of(Cause::hardware_or_link_fault),
                                                  id_of(Cause::uneven_work_or_data_partition)});
        found.blame.step = since;
        return {found};
    }

    std::vector<Finding> rotating(const StepPace& step, Time scatter) {
        const auto slowest = std::max_element(step.ranks.begin(), step.ranks.end(),
                                              [](const Pace& a, const Pace& b) { return a.own < b.own; });
        // On an oversubscribed machine, chance makes one rank late and then another. So does a draw where
        // batches differ in length: then every rank's steps differ as much as one rank is late.
        const bool counts =
            !pipelined_ && !profiled_.has(slowest->process, step.step) &&
            slow(*slowest, step.own, step, rotating_permille, std::max(scatter, slowest->starved()));
        slowest_.push_back(counts ? slowest->process : no_rank);
        starved_.push_back(step.starved >= late_min);
        if (slowest_.size() > window) slowest_.pop_front();
        if (starved_.size() > window) starved_.pop_front();
        if (std::count(starved_.begin(), starved_.end(), true) >= starved_steps) return {};
        const auto hits =
            slowest_.size() - static_cast<std::size_t>(std::count(slowest_.begin(), slowest_.end(), no_rank));
        std::set<Rank> who(slowest_.begin(), slowest_.end());
        who.erase(no_rank);
        if (hits < window_slow_min || who.size() < 3) return {};
        return {straggler_finding(
            evidence_, {}, step,
            fmt::format("in {} of {} steps one rank was late, a different one each time: {}", hits,
                        slowest_.size(), ranks_text({who.begin(), who.end()})),
            {id_of(Cause::rank_local_slowdown), id_of(Cause::uneven_work_or_data_partition)})};
    }

    const Evidence& evidence_;
    const Profiled& profiled_;
    std::vector<Stop> stops_;
    std::int64_t limit_;
    bool pipelined_, short_steps_;
    int attempt_ = 0;
    Streaks streaks_, short_streaks_;
    std::deque<Rank> slowest_;
    std::deque<bool> starved_;
    Scatter scatter_;
    std::map<Rank, std::vector<Time>> habits_;  // own times in the steps in which it was not late
};

}  // namespace

Findings straggler(const Evidence& evidence) {
    const Paces& paces = evidence.facts<Paces>();
    const Profiled profiled(evidence);
    const auto first_of = [&](std::span<const StepPace> steps) -> Findings {
        Observation observation(evidence, paces, profiled, unplanned_stops(evidence, steps));
        for (const StepPace& step : steps) {
            if (auto found = observation.look_at(step); !found.empty()) return found;
        }
        return {};
    };
    const auto companies = group_comparable_ranks(evidence);
    if (companies.empty()) return first_of(paces.steps());
    Findings first;
    for (const auto& steps : companies) {
        Findings found = first_of(steps);
        if (!found.empty() && (first.empty() || found.front().at < first.front().at))
            first = std::move(found);
    }
    return first;
}

extern const DetectorRow straggler_row{
    .name = "straggler", .reports = {id_of(Symptom::straggler_step_time_skew)}, .examine = straggler};

extern const Thresholds straggler_thresholds{
    {"a rank's own time of a step, of the median's", straggler_slow_permille, "‰"},
    {"the same between stages of a pipeline", slow_stage_permille, "‰"},
    {"slow steps in a row", straggler_streak_min},
    {"the same where it is late by 1 to 5 ms and no rank waits for a processor", short_permille, "‰"},
    {"such steps in a row", short_streak_min},
    {"ranks that take turns: the slowest one, of the median", rotating_permille, "‰"},
    {"slow steps of the last 8, by three ranks at least", window_slow_min},
    {"a pause, and ten times the rank's own time", stop_min.count() / 1'000'000'000, "s"},
    {"steps left out of a rank that says it profiles", static_cast<std::int64_t>(profiled_max)}};

}  // namespace deadrank::results::detectors
