// runners/explore/program_trials.h — A user's program under faults, beside one healthy run: how did it end?
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "results/judging/reaction.h"
#include "runners/pipeline/play_trial.h"
#include "scenarios/model/enum_words.h"

namespace deadrank::runners::explore {

// How a program ended that met a fault, from best to worst.
enum class Outcome {
    unaffected,       // the healthy run's result, without a restart
    recovered,        // the healthy run's result, after a restart
    clear_error,      // an error names the culprit
    vague_error,      // an error names nobody who is at fault
    wrong_rank,       // an error names another rank
    watchdog,         // an error after a time-out of minutes
    lost_checkpoint,  // it completed without a checkpoint that the healthy run leaves
    hang,             // it never ended
    wrong_result,     // it completed with another result, and said nothing
    never_came,       // the moment of the fault never came
    unknown,          // it could not be played
};
std::string_view name_of(Outcome);  // "wrong_result"
std::string_view text_of(Outcome);  // "silent wrong result"
std::string_view sign_of(Outcome);  // one column wide
bool is_bad(Outcome);               // somebody waits, is misled, or trusts a wrong result

// "after # min: rank # …": of two sentences that differ in numbers alone this is the same.
std::string words_without_numbers(std::string_view sentence);

// One run of the program with its faults.
struct ProgramRun {
    std::shared_ptr<const Played> control;
    Played fault;
    Outcome outcome = Outcome::unknown;
    results::Grade grade;
    std::string says;  // one sentence: the error's words, what differs, how long it hung, or why it is unknown

    // Of several faults: places in the plan of those without which the run ends alike. Nobody is to blame for them.
    std::set<std::int32_t> innocent = {};

    results::Time fault_at() const { return fault.record.truth.first_fault(); }
    results::Blame culprit() const { return fault.record.truth.culprit_without(innocent); }
    // Detectors: whether an alarm names a culprit, another rank, or nobody.
    std::string_view alarm() const;  // "named", "misnamed", "noticed", "silent"
};

// How a run may be asked to end: with the right result, or without a restart as well; with a clear error, or
// one before the first step.
enum class WantedEnd { recovers, completes, clear_error, refuses };
constexpr auto enum_words(WantedEnd) {
    return std::to_array<std::string_view>({"recovers", "completes", "clear_error", "refuses"});
}
bool meets(WantedEnd wanted, const ProgramRun& run);

// Plays plans of one program that differ in their faults alone. The healthy run is played once. Thread-safe
// after the first call of control().
class ProgramTrials {
public:
    // `control`: the healthy run, where it was played already.
    ProgramTrials(scenarios::Plan healthy, PipelineOptions options,
                  std::shared_ptr<const Played> control = nullptr)
        : healthy_(std::move(healthy)), options_(std::move(options)), control_(std::move(control)) {}

    const scenarios::Plan& healthy() const { return healthy_; }

    // Errors: environment; unsupported, if the program fails without any fault, in its own words.
    scenarios::Result<std::shared_ptr<const Played>> control(Runner& runner);

    // Whether a second healthy run is the same event for event; the first difference in words, else empty.
    // `telling` plays runs that differ once more: its evidence names the lines of the program.
    scenarios::Result<std::string> difference_of_two(Runner& runner, Runner& telling);

    // `plan`: healthy() with faults. Where it has several, `again` plays it without each of them, which tells the
    // innocent ones; null: all count. Errors: environment.
    scenarios::Result<ProgramRun> play(const scenarios::Plan& plan, Runner& runner, Runner* again = nullptr);

    // The healthy program in an order drawn from this seed, beside the usual one. Nobody is to blame for an order, so
    // an error is `vague_error` whatever it names. Errors: environment. After control().
    scenarios::Result<ProgramRun> play_order(std::uint64_t order_seed, Runner& runner) const;
    // The healthy program alone; without a seed in the usual order. Errors: environment. After control().
    scenarios::Result<Played> play_healthy(std::optional<std::uint64_t> order_seed, Runner& runner) const;

    // Plays the plan's faults as alternatives. Errors: environment, of the run that is copied.
    scenarios::Result<void> play_branches(const scenarios::Plan& plan, Runner& runner, Branches& branches) const;
    // A run of such a copy, after control() has been played.
    ProgramRun judge(const scenarios::Plan& plan, Record record) const;

private:
    PipelineOptions options_with_control() const;  // after control()
    // Plays the plan without each of its faults.
    std::set<std::int32_t> find_innocent(const ProgramRun& run, Runner& runner) const;

    scenarios::Plan healthy_;
    PipelineOptions options_;
    std::shared_ptr<const Played> control_;
};

}  // namespace deadrank::runners::explore
