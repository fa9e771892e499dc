// runners/explore/program_trials.cpp — The judge's grade of the job, refined by what a user asks: was it a
// watchdog, and is every checkpoint there?
#include "runners/explore/program_trials.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <set>

#include "results/analysis/complaints.h"
#include "results/analysis/error_quote.h"
#include "results/judging/left_comparison.h"
#include "results/record/words.h"
#include "runners/explore/moments.h"
#include "runners/explore/run_difference.h"
#include "scenarios/model/kind_ids.h"
#include "scenarios/model/text.h"

namespace deadrank::runners::explore {

namespace {

using results::Evidence;
using results::Reaction;
using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

struct OutcomeWords {
    std::string_view name, text, sign;
};
constexpr std::array<OutcomeWords, 11> outcome_words = {{
    {"unaffected", "unaffected", "."},
    {"recovered", "recovered with the right result", "+"},
    {"clear_error", "clear error naming the culprit", "c"},
    {"vague_error", "error naming nobody at fault", "e"},
    {"wrong_rank", "error naming another rank", "x"},
    {"watchdog", "watchdog", "w"},
    {"lost_checkpoint", "lost checkpoint", "L"},
    {"hang", "hang for ever", "H"},
    {"wrong_result", "silent wrong result", "W"},
    {"never_came", "the moment never came", "-"},
    {"unknown", "unknown", "?"},
}};

const OutcomeWords& words_of(Outcome outcome) { return outcome_words.at(static_cast<std::size_t>(outcome)); }

// A time-out of a collective or of the store that let the job wait for a minute or longer.
constexpr results::Time long_wait{60'000'000'000};

constexpr int telling_tries_max = 4;

bool timed_out(const Evidence& evidence) {
    const auto complains = [&](const results::Event* event) {
        const auto& log = *event->as<results::RankLog>();
        return event->rank != results::no_rank &&
               results::analysis::classify_trouble(evidence.text(log.line)) ==
                   results::analysis::Trouble::timeout;
    };
    const auto logs = evidence.each<results::RankLog>();
    return std::any_of(logs.begin(), logs.end(), complains);
}

// From the fault, or else from the start, to the job's end.
results::Time time_to_end(const ProgramRun& run) {
    const results::Time at = run.fault_at();
    return run.fault.record.ended - (at == results::never ? results::Time{0} : at);
}

// What it leaves is its result as well: a saver that swallowed an error trained well and for nothing.
void judge_completion(ProgramRun& run, Outcome outcome) {
    run.outcome = outcome;
    std::error_code none;
    const auto left = results::compare_left_files(run.fault.record.left, run.control->record.left,
                                                  std::filesystem::current_path(none));
    if (left.what == results::LeftDifference::none) return;
    if (left.what == results::LeftDifference::other_result && outcome == Outcome::wrong_result) return;
    run.outcome = left.what == results::LeftDifference::other_result ? Outcome::wrong_result
                                                                     : Outcome::lost_checkpoint;
    run.says = left.says;
}

void judge_error(ProgramRun& run, Outcome outcome) {
    run.outcome = outcome;
    if (time_to_end(run) < long_wait || !timed_out(run.fault.record.evidence)) return;
    run.outcome = Outcome::watchdog;
    run.says = fmt::format("after {}: {}", results::duration_text(time_to_end(run)), run.says);
}

bool missed_any(const results::Truth& truth) {
    return std::any_of(truth.marks.begin(), truth.marks.end(),
                       [](const results::Mark& mark) { return mark.kind == results::MarkKind::missed; });
}

// What a program reads of its environment with os.environ nobody sees. So what a variable changed is told by the run.
void describe_unread_variable(ProgramRun& run) {
    for (const results::Mark& mark : run.fault.record.truth.marks) {
        if (mark.kind != results::MarkKind::unread) continue;
        const bool same = run.fault.record.trace_hash == run.control->record.trace_hash;
        const auto& fault = run.fault.plan.faults.at(static_cast<std::size_t>(mark.fault));
        const auto name = fault.parameters.find("name");
        run.says = name == fault.parameters.end()
                       ? mark.says
                       : fmt::format("{} was {}, and {}", name->second.text,
                                     fault.kind == scenarios::FaultId::unset_env ? "unset" : "set",
                                     same ? "the run is the healthy one, call for call: nothing depends on it"
                                          : "only times differ from the healthy run");
        return;
    }
}

void judge_reaction(ProgramRun& run) {
    run.grade = results::grade(run.fault.record, &run.control->record.evidence, run.culprit());
    run.says = run.grade.says;
    switch (run.grade.reaction) {
        case Reaction::completed:
        case Reaction::warned_and_completed:
            judge_completion(run, Outcome::unaffected);
            if (run.outcome == Outcome::unaffected) describe_unread_variable(run);
            return;
        case Reaction::restarted:
            return judge_completion(run, Outcome::recovered);
        case Reaction::clear_error:
        case Reaction::refused_to_start:
            return judge_error(run, Outcome::clear_error);
        case Reaction::misleading_error:
            return judge_error(run, Outcome::vague_error);
        case Reaction::wrong_rank:
            return judge_error(run, Outcome::wrong_rank);
        case Reaction::hung:
            run.outcome = Outcome::hang;
            return;
        case Reaction::silent_wrong_result:
        case Reaction::not_checked:
            return judge_completion(run, Outcome::wrong_result);
    }
}

void judge_run(ProgramRun& run) {
    const results::Truth& truth = run.fault.record.truth;
    if (truth.interrupted) {
        run.says = "it was stopped";
        return;
    }
    if (const results::Mark* refused = truth.refusal()) {
        run.says = refused->says;
        return;
    }
    if (!truth.applied() || missed_any(truth)) {
        run.outcome = Outcome::never_came;
        std::set<results::Rank> ranks;
        for (const scenarios::FaultSpec& fault : run.fault.plan.faults)
            for (const std::int64_t rank : fault.ranks()) ranks.insert(static_cast<results::Rank>(rank));
        if (ranks.empty()) ranks.insert(0);  // a fault of a disk or a link: the ranks do much the same
        for (const results::Rank rank : ranks)
            run.says += (run.says.empty() ? "" : "; ") +
                        describe_moments(run.control->record.evidence, rank);
        return;
    }
    judge_reaction(run);
}

// The error of a failed healthy run, or how it ended.
std::string why_it_failed(const Evidence& evidence) {
    results::Rank rank = results::no_rank;
    std::string text;
    for (const results::Event* event : evidence.each<results::RankLog>()) {
        const auto& log = *event->as<results::RankLog>();
        if (log.level < 2 || event->rank == results::no_rank) continue;
        if (rank == results::no_rank) rank = event->rank;
        if (event->rank != rank) continue;
        std::string_view line = evidence.text(log.line);
        const std::string prefix = fmt::format("[rank{}]: ", rank);
        if (line.starts_with(prefix)) line.remove_prefix(prefix.size());
        text += std::string(line) + "\n";
    }
    if (!text.empty()) return fmt::format("rank {}: {}", rank, results::analysis::find_key_line(text));
    for (const results::Event* event : evidence.each<results::RankExit>()) {
        const auto& exit = *event->as<results::RankExit>();
        if (exit.signal != 0) return fmt::format("rank {} was ended by signal {}", event->rank, exit.signal);
        if (exit.code != 0) return fmt::format("rank {} ended with code {}", event->rank, exit.code);
    }
    return "its ranks wait for ever";
}

}  // namespace

std::string_view name_of(Outcome outcome) { return words_of(outcome).name; }
std::string_view text_of(Outcome outcome) { return words_of(outcome).text; }
std::string_view sign_of(Outcome outcome) { return words_of(outcome).sign; }

bool is_bad(Outcome outcome) {
    return outcome >= Outcome::wrong_rank && outcome <= Outcome::wrong_result;
}

std::string words_without_numbers(std::string_view sentence) {
    std::string words;
    for (const std::string_view word : scenarios::parts_of(sentence, ' ')) {
        if (word.starts_with("[rank")) continue;  // whose line it is stands before it
        const bool number = word.find_first_of("0123456789") != std::string_view::npos || word == "nan" ||
                            word == "inf";
        words += number ? " #" : fmt::format(" {}", word);
    }
    return words;
}

std::string_view ProgramRun::alarm() const {
    if (fault.findings.empty()) return "silent";
    const results::Blame culprit = this->culprit();
    bool misnamed = false;
    for (const results::Finding& finding : fault.findings) {
        const auto& ranks = finding.blame.ranks;
        const auto guilty = [&](results::Rank rank) {
            return std::count(culprit.ranks.begin(), culprit.ranks.end(), rank) > 0;
        };
        if (std::any_of(ranks.begin(), ranks.end(), guilty)) return "named";
        misnamed = misnamed || (!ranks.empty() && !culprit.ranks.empty());
    }
    return misnamed ? "misnamed" : "noticed";
}

bool meets(WantedEnd wanted, const ProgramRun& run) {
    switch (wanted) {
        case WantedEnd::recovers:
            return run.outcome == Outcome::recovered || run.outcome == Outcome::unaffected;
        case WantedEnd::completes:
            return run.outcome == Outcome::unaffected;
        case WantedEnd::clear_error:
            return run.outcome == Outcome::clear_error;
        case WantedEnd::refuses:
            return run.outcome == Outcome::clear_error && run.grade.reaction == Reaction::refused_to_start;
    }
    return false;
}

Result<std::shared_ptr<const Played>> ProgramTrials::control(Runner& runner) {
    if (control_) return control_;
    PipelineOptions options = options_;
    options.left_files = true;
    auto played = play_plan(healthy_, runner, options);
    if (!played) return tl::unexpected(played.error());
    if (played->record.truth.interrupted) return refuse(ErrorCode::internal, "it was stopped");
    if (!played->record.truth.completed())
        return refuse(ErrorCode::unsupported,
                      fmt::format("the program fails without any fault: {}",
                                  why_it_failed(played->record.evidence)),
                      "deadrank watch --simulated shows all that it prints");
    control_ = std::make_shared<const Played>(std::move(*played));
    return control_;
}

PipelineOptions ProgramTrials::options_with_control() const {
    PipelineOptions options = options_;
    options.left_files = true;
    options.healthy_left = &control_->record.left;
    return options;
}

Result<std::string> ProgramTrials::difference_of_two(Runner& runner, Runner& telling) {
    const auto first = control(runner);
    if (!first) return tl::unexpected(first.error());
    const auto second = play_healthy({}, runner);
    if (!second) return tl::unexpected(second.error());
    if ((*first)->record.trace_hash == second->record.trace_hash) {
        std::error_code none;
        return results::compare_left_files(second->record.left, (*first)->record.left,
                                           std::filesystem::current_path(none))
            .says;
    }
    // The lines are evidence themselves, so the runs that show them are runs of their own, and chance may
    // make them alike.
    const auto one = play_healthy({}, telling);
    for (int i = 0; one && i < telling_tries_max; ++i) {
        const auto other = play_healthy({}, telling);
        if (!other) break;
        if (auto says = describe_difference(one->record.evidence, other->record.evidence); !says.empty())
            return says;
    }
    auto says = describe_difference((*first)->record.evidence, second->record.evidence);
    return says.empty() ? "the simulator's own events have another order" : says;
}

Result<ProgramRun> ProgramTrials::play(const scenarios::Plan& plan, Runner& runner, Runner* again) {
    auto healthy = control(runner);
    if (!healthy) return tl::unexpected(healthy.error());
    auto played = play_plan(plan, runner, options_with_control());
    if (!played) return tl::unexpected(played.error());
    ProgramRun run{.control = *healthy, .fault = std::move(*played), .grade = {}, .says = {}};
    judge_run(run);
    const bool has_blame = run.outcome != Outcome::unaffected && run.outcome < Outcome::never_came;
    if (!again || plan.faults.size() < 2 || !has_blame) return run;
    run.innocent = find_innocent(run, *again);
    if (!run.innocent.empty()) judge_run(run);
    return run;
}

namespace {

// How a run ends, whoever is to blame.
std::string ending_of(const ProgramRun& run, const Played& played) {
    const results::Grade grade =
        results::grade(played.record, &run.control->record.evidence, run.fault.record.truth.culprit());
    std::error_code none;
    const auto left = results::compare_left_files(played.record.left, run.control->record.left,
                                                  std::filesystem::current_path(none));
    return fmt::format("{}/{}/{}", name_of(grade.reaction), words_without_numbers(grade.says), left.says);
}

}  // namespace

// Where each of two kills alone ends the run in one way, neither is innocent.
std::set<std::int32_t> ProgramTrials::find_innocent(const ProgramRun& run, Runner& runner) const {
    const std::string ending = ending_of(run, run.fault);
    std::set<std::int32_t> innocent;
    for (std::size_t i = 0; i < run.fault.plan.faults.size(); ++i) {
        scenarios::Plan others = run.fault.plan;
        others.faults.erase(others.faults.begin() + static_cast<std::ptrdiff_t>(i));
        const auto played = play_plan(others, runner, options_with_control());
        if (!played) continue;
        const results::Truth& truth = played->record.truth;
        if (truth.interrupted || !truth.applied() || truth.refusal() || missed_any(truth)) continue;
        if (ending_of(run, *played) == ending) innocent.insert(static_cast<std::int32_t>(i));
    }
    if (innocent.size() == run.fault.plan.faults.size()) innocent.clear();
    return innocent;
}

Result<Played> ProgramTrials::play_healthy(std::optional<std::uint64_t> order_seed, Runner& runner) const {
    PipelineOptions options = options_with_control();
    options.order_seed = order_seed;
    return play_plan(healthy_, runner, options);
}

Result<ProgramRun> ProgramTrials::play_order(std::uint64_t order_seed, Runner& runner) const {
    auto played = play_healthy(order_seed, runner);
    if (!played) return tl::unexpected(played.error());
    ProgramRun run{.control = control_, .fault = std::move(*played), .grade = {}, .says = {}};
    if (run.fault.record.truth.interrupted) {
        run.says = "it was stopped";
        return run;
    }
    judge_reaction(run);
    if (run.outcome == Outcome::clear_error || run.outcome == Outcome::wrong_rank)
        run.outcome = Outcome::vague_error;
    return run;
}

Result<void> ProgramTrials::play_branches(const scenarios::Plan& plan, Runner& runner,
                                          Branches& branches) const {
    PipelineOptions options = options_with_control();
    options.branches = &branches;
    const auto played = play_plan(plan, runner, options);
    if (!played) return tl::unexpected(played.error());
    return {};
}

ProgramRun ProgramTrials::judge(const scenarios::Plan& plan, Record record) const {
    ProgramRun run{.control = control_,
                   .fault = with_findings(plan, std::move(record), options_),
                   .grade = {},
                   .says = {}};
    judge_run(run);
    return run;
}

}  // namespace deadrank::runners::explore
