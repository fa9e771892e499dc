// results/detectors/low_throughput.cpp — All ranks are slower than before, or stall together again and again.
// Compared with earlier steps of this attempt, with the attempt before, or with what the log promises. A
// single slow rank is left to straggler, slow transfers to transport_degraded.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <utility>
#include <vector>

#include "results/analysis/error_quote.h"
#include "results/analysis/findings.h"
#include "results/analysis/paces.h"
#include "results/analysis/pairs.h"
#include "results/analysis/samples.h"
#include "results/analysis/stops.h"
#include "results/detectors/detector.h"
#include "results/detectors/shared.h"
#include "results/record/event_names.h"
#include "results/record/words.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::detectors {

using scenarios::Cause;
using scenarios::Symptom;

using namespace analysis;

namespace {

constexpr std::size_t throughput_history_min = 3;
constexpr int throughput_streak_min = 4;
constexpr std::int64_t throughput_slow_permille = 1150;
constexpr std::int64_t measured_permille = 1050;  // of a measured time, on a machine that is not shared
constexpr std::int64_t measured_scatter = 3;      // times what one step usually differs from the next
constexpr std::int64_t stall_permille = 2000;
constexpr std::size_t stalls_min = 3;
constexpr std::int64_t stall_scatter = 3;  // times what nine of ten steps take more than the usual one
constexpr int retries_min = 3;
constexpr double grown_min = 1.05;  // of the work that the program tells: it does more

Finding throughput_finding(Time at, std::int64_t step, std::string says, std::vector<std::string> causes) {
    Finding found{.symptom = id_of(Symptom::low_throughput_uniform),
                  .blame = {},
                  .at = at,
                  .says = std::move(says),
                  .causes = std::move(causes)};
    found.blame.step = step;
    return found;
}

constexpr Time felt_min = std::chrono::milliseconds(5);  // a time slice of the scheduler

bool above(Time value, Time base, std::int64_t permille) {
    return base > Time{0} && value.count() > base.count() / 1000 * permille;
}

// No rank's own time stands out.
bool uniform(const StepPace& step) {
    return std::none_of(step.ranks.begin(), step.ranks.end(),
                        [&](const Pace& pace) { return above(pace.own, step.own, 1080); });
}

Time median_of(std::vector<std::int64_t> values) { return Time{median(std::move(values))}; }

// What a rank does for all is part of everybody's step.
Time work_of(const StepPace& step) { return step.own + step.for_all; }

// The steps that an attempt has made. Where the work of a step varies, as with images of a size that is
// drawn, many of them are slow by the median, and some follow each other by chance. The more there are, the
// more must follow each other before they mean anything: so many that chance gives such a row once in
// 100,000 steps.
//
//     slow steps so far     none to 1 in 20    1 in 10    1 in 4    2 in 5
//     in a row                            4          5         9        13
class History {
public:
    void add(Time own, Time whole) {
        own_.push_back(own.count());
        whole_.push_back(whole.count());
    }
    void forget() { own_.clear(), whole_.clear(); }
    bool known() const { return own_.size() >= throughput_history_min; }
    Time own() const { return median_of(own_); }
    Time whole() const { return median_of(whole_); }

    // Nine of ten steps took no longer; of few, all.
    Time mostly() const {
        if (whole_.empty()) return Time{0};
        auto sorted = whole_;
        const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() * 9 / 10);
        std::nth_element(sorted.begin(), at, sorted.end());
        return Time{*at};
    }
    int shortest_significant_streak() const {
        constexpr double once_in = 100'000;
        const Time usual_own = own(), usual_whole = whole();
        int slow = 0;
        for (std::size_t i = 0; i < own_.size(); ++i)
            slow += above(Time{own_[i]}, usual_own, throughput_slow_permille) &&
                    above(Time{whole_[i]}, usual_whole, throughput_slow_permille);
        int row = throughput_streak_min;
        double chance = std::pow(slow / static_cast<double>(own_.size()), row);
        for (; chance * once_in > 1 && slow > 0; ++row) chance *= slow / static_cast<double>(own_.size());
        return row;
    }

private:
    std::vector<std::int64_t> own_, whole_;
};

double middle_of(std::vector<double> values) {
    const auto middle = values.begin() + std::ssize(values) / 2;
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// The steps since then take longer because the program does more in them, and says so. Twice the length may
// take up to four times as long, as attention does.
bool does_more(const Evidence& evidence, const StepPace& step, std::int64_t since, double longer) {
    const auto length = step.step - since + 1;
    const Amounts before = amounts_between(evidence, since - length, since, step.attempt);
    for (const auto& [name, values] : amounts_between(evidence, since, step.step + 1, step.attempt)) {
        const auto earlier = before.find(name);
        if (earlier == before.end()) continue;
        const double usual = middle_of(earlier->second), grown = usual > 0 ? middle_of(values) / usual : 0;
        if (grown >= grown_min && grown * grown * grown_min >= longer) return true;
    }
    return false;
}

// The stalls of all ranks in one attempt. An evaluation every hundredth step is the program's plan: it comes
// at one distance from the first step on, and takes as long each time.
class Stalls {
public:
    void add(std::int64_t step, Time lasted) {
        if (steps_.empty() || step != last_ + 1) steps_.push_back(step);
        last_ = step;
        shortest_ = steps_.size() == 1 && steps_[0] == step ? lasted : std::min(shortest_, lasted);
        longest_ = std::max(longest_, lasted);
    }
    void begin_at(std::int64_t step) { *this = {}, since_ = step; }
    std::size_t count() const { return steps_.size(); }
    bool planned() const {
        const auto known = static_cast<std::int64_t>(throughput_history_min);  // none is seen before
        return has_equal_spacing(steps_, since_ + known) &&
               longest_.count() <= shortest_.count() / 1000 * alike_stops_permille;
    }

private:
    std::vector<std::int64_t> steps_;  // in which one began
    std::int64_t since_ = 0, last_ = -1;
    Time shortest_{0}, longest_{0};
};

// A process may train something by itself first, as a measure for what it then trains with others: the first
// step of an attempt that calls others. `together` tells whether one has.
bool joins_others(const StepPace& step, bool& together) {
    const bool joins = step.called && !together && !step.first;
    together = step.called || (together && !step.first);
    return joins;
}

// From some step on all work takes longer, or now and then all of it stalls.
std::vector<Finding> find_own_slowdown(const Evidence& evidence, const Paces& paces) {
    struct Slow {
        const StepPace* step;
        bool stalled;
    };
    History history;
    std::vector<Slow> row;  // which must not shift the baseline while it lasts
    Stalls stalls;
    bool together = false;
    for (const StepPace& step : paces.steps()) {
        if (step.first || (joins_others(step, together) && history.known())) {
            history.forget();
            row.clear();
            stalls.begin_at(step.step);
            continue;
        }
        if (step.epoch_begins) continue;  // loaders' workers start in it
        const Time usual_own = history.own(), usual_whole = history.whole(), own = work_of(step);
        // On an oversubscribed machine all ranks may wait for a processor at the same time.
        const bool felt = history.known() && own - usual_own >= felt_min + step.starved && uniform(step);
        const bool slow = felt && above(own, usual_own, throughput_slow_permille) &&
                          above(step.whole, usual_whole, throughput_slow_permille);
        // What a program does between its phases, playing or preparing its next training, is no stall.
        const bool stalled = felt && above(step.trained, usual_whole, stall_permille) &&
                             above(own, usual_own, stall_permille) &&
                             step.trained - usual_whole > stall_scatter * (history.mostly() - usual_whole);
        if (slow) row.push_back({&step, stalled});
        if (stalled) stalls.add(step.step, step.whole - usual_whole);
        if (std::ssize(row) >= throughput_streak_min &&
            std::ssize(row) >= history.shortest_significant_streak()) {
            const std::int64_t since = row.front().step->step;
            const auto longer = static_cast<double>(own.count()) / static_cast<double>(usual_own.count());
            if (does_more(evidence, step, since, longer)) {
                history.forget();
                for (const Slow& one : std::exchange(row, {}))
                    history.add(work_of(*one.step), one.step->whole);
                stalls.begin_at(step.step);
                continue;
            }
            return {
                throughput_finding(step.ended, since,
                                   fmt::format("all ranks take {} per step since step {}, {} before",
                                               duration_text(step.whole), since, duration_text(usual_whole)),
                                   {id_of(Cause::dependency_or_hardware_mismatch),
                                    id_of(Cause::misconfigured_resource_or_distributed_settings)})};
        }
        if (stalls.count() >= stalls_min && !stalls.planned()) {
            return {throughput_finding(
                step.ended, step.step,
                fmt::format("all ranks stalled together {} times, {} in step {} where {} is usual",
                            stalls.count(), duration_text(step.whole), step.step, duration_text(usual_whole)),
                {id_of(Cause::misconfigured_resource_or_distributed_settings),
                 id_of(Cause::hardware_or_link_fault)})};
        }
        if (slow) continue;
        // The row has ended, and was part of how the job's steps vary.
        for (const Slow& one : std::exchange(row, {}))
            if (!one.stalled) history.add(work_of(*one.step), one.step->whole);
        if (!stalled) history.add(own, step.whole);
    }
    return {};
}

// After a restart the same job is slower from its first step: as many ranks, and none of them stands out.
std::vector<Finding> against_last_attempt(const Evidence& evidence, const Paces& paces) {
    struct Attempt {
        std::vector<std::int64_t> own, whole;
        std::size_t ranks = 0;
        bool uniform = true;
    };
    std::map<int, Attempt> attempts;
    for (const StepPace& step : paces.steps()) {
        Attempt& here = attempts[step.attempt];
        if (step.first) continue;
        here.own.push_back(work_of(step).count());
        here.whole.push_back(step.whole.count());
        here.ranks = std::max(here.ranks, step.ranks.size());
        here.uniform &= uniform(step);
        const auto before = attempts.find(step.attempt - 1);
        if (before == attempts.end() || before->second.own.size() < throughput_history_min ||
            here.own.size() < static_cast<std::size_t>(throughput_streak_min) ||
            before->second.ranks != here.ranks || !here.uniform)
            continue;
        const Time own = median_of(here.own), usual_own = median_of(before->second.own);
        const Time whole = median_of(here.whole), usual_whole = median_of(before->second.whole);
        if (!above(own, usual_own, throughput_slow_permille) ||
            !above(whole, usual_whole, throughput_slow_permille))
            continue;
        const auto change = change_between({evidence, step.attempt - 1, PairTables::Of::versions},
                                           {evidence, step.attempt, PairTables::Of::versions});
        Finding found = throughput_finding(
            step.ended, step.step,
            fmt::format(
                "all ranks take {} per step since the restart, {} before it{}", duration_text(whole),
                duration_text(usual_whole),
                change ? fmt::format("; {} was {} and is {}", change->name, change->before, change->after)
                       : ""),
            {id_of(Cause::dependency_or_hardware_mismatch),
             id_of(Cause::misconfigured_resource_or_distributed_settings)});
        if (change) found.blame.component = change->name;
        return {found};
    }
    return {};
}

// What a rank's steps take, and how much one usually differs from the next.
class Measured {
public:
    void add(double value) {
        if (last_ > 0) differences_.push_back(static_cast<std::int64_t>(std::abs(value - last_) * 1e9));
        last_ = value;
    }
    // Of a time that was measured elsewhere: what exceeds the steps' own scatter.
    std::int64_t limit(double expected, bool shared) const {
        if (shared) return throughput_slow_permille;
        const double scatter = static_cast<double>(median(differences_)) * 1e-9 / expected;
        const auto usual = static_cast<std::int64_t>(scatter * 1000.0);
        return std::clamp(1000 + measured_scatter * usual, measured_permille, throughput_slow_permille);
    }
    int streak = 0;

private:
    double last_ = 0;
    std::vector<std::int64_t> differences_;
};

// value.sample "step_time" against what was measured for this job before. Ranks that wait for processors
// share their machine with others, who may slow it down.
std::vector<Finding> against_log(const Evidence& evidence, const Paces& paces) {
    std::map<Rank, Measured> measured;
    for (const Event* event : evidence.each<ValueSample>()) {
        const auto* sample = event->as<ValueSample>();
        if (evidence.text(sample->name) != SampleName::step_time || std::isnan(sample->expected) ||
            sample->expected <= 0)
            continue;
        Measured& own = measured[event->rank];
        own.add(sample->value);
        const auto limit = static_cast<double>(own.limit(sample->expected, paces.has_starvation_data()));
        own.streak = sample->value * 1000 > sample->expected * limit ? own.streak + 1 : 0;
        if (own.streak < throughput_streak_min) continue;
        return {throughput_finding(event->at, sample->step,
                                   fmt::format("a step takes {:.4g} s where {:.4g} s were measured before",
                                               sample->value, sample->expected),
                                   {id_of(Cause::dependency_or_hardware_mismatch),
                                    id_of(Cause::misconfigured_resource_or_distributed_settings),
                                    id_of(Cause::misused_framework_api)})};
    }
    return {};
}

// The number in front of these words, or -1.
double number_before(std::string_view line, std::string_view words) {
    const auto end = line.find(words);
    if (end == std::string_view::npos) return -1;
    const auto begin = line.rfind(' ', end - 1);
    return std::strtod(std::string(line.substr(begin + 1, end - begin - 1)).c_str(), nullptr);
}

// The log's throughput of each step against what the settings promise: the only baseline for a job that was
// slow from its first step. A single slow rank is left to straggler.
std::vector<Finding> against_promise(const Evidence& evidence, const Paces& paces) {
    double promised = -1;
    for (const Event* event : evidence.each<RankConfig>()) {
        const auto* config = event->as<RankConfig>();
        if (evidence.text(config->name) == ConfigName::expected_throughput)
            promised = std::strtod(std::string(evidence.text(config->value)).c_str(), nullptr);
    }
    if (promised <= 0) return {};
    const auto& steps = paces.steps();
    if (!std::all_of(steps.begin(), steps.end(), [](const StepPace& step) { return uniform(step); }))
        return {};
    int streak = 0;
    for (const Event* event : evidence.each<RankLog>()) {
        const double reached = number_before(evidence.text(event->as<RankLog>()->line), " samples/s");
        if (reached < 0) continue;
        streak = reached * static_cast<double>(throughput_slow_permille) < promised * 1000 ? streak + 1 : 0;
        if (streak < throughput_streak_min) continue;
        return {throughput_finding(
            event->at, step_at(evidence, event->rank, event->at).value_or(0),
            fmt::format("{:.4g} samples a second, where {:.4g} were promised", reached, promised),
            {id_of(Cause::misconfigured_resource_or_distributed_settings),
             id_of(Cause::dependency_or_hardware_mismatch)})};
    }
    return {};
}

// A rank retries again and again, and all the others wait for it.
std::vector<Finding> retries(const Evidence& evidence) {
    std::map<Rank, int> tries;
    for (const Event* event : evidence.each<RankLog>()) {
        const auto* log = event->as<RankLog>();
        const std::string_view line = evidence.text(log->line);
        const bool again =
            line.find("etrying") != std::string_view::npos || line.find("retry ") != std::string_view::npos;
        if (event->rank < 0 || log->level < 1 || !again || ++tries[event->rank] < retries_min) continue;
        Finding found = throughput_finding(event->at, 0,
                                           fmt::format("rank {} tried again {} times: {}", event->rank,
                                                       retries_min, shorten_text(line, 120)),
                                           {id_of(Cause::unpropagated_rank_failure)});
        found.blame = blame_ranks(evidence.facts<Lives>(), {event->rank});
        return {found};
    }
    return {};
}

}  // namespace

Findings low_throughput(const Evidence& evidence) {
    if (auto found = retries(evidence); !found.empty()) return found;
    const Paces& paces = evidence.facts<Paces>();
    if (auto found = against_log(evidence, paces); !found.empty()) return found;
    if (auto found = find_own_slowdown(evidence, paces); !found.empty()) return found;
    if (auto found = against_last_attempt(evidence, paces); !found.empty()) return found;
    return against_promise(evidence, paces);
}

extern const DetectorRow low_throughput_row{
    .name = "low_throughput", .reports = {id_of(Symptom::low_throughput_uniform)}, .examine = low_throughput};

extern const Thresholds low_throughput_thresholds{
    {"steps known before", throughput_history_min},
    {"time of a step on all ranks, of the usual one", throughput_slow_permille, "‰"},
    {"the same against a time that was measured elsewhere, where steps hardly vary", measured_permille, "‰"},
    {"slow steps in a row, more where many steps are slow", throughput_streak_min},
    {"a stall of all ranks, of the usual step", stall_permille, "‰"},
    {"what it takes more, of what nine of ten steps take more", stall_scatter * 1000, "‰"},
    {"stalls", stalls_min},
    {"tries again of one rank", retries_min}};

}  // namespace deadrank::results::detectors
