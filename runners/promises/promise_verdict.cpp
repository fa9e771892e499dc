// runners/promises/promise_verdict.cpp — Checks each ask of a promise against the measurements. Whatever else
// went wrong, a run whose fault did not happen proves nothing.
#include "runners/promises/promise_verdict.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace deadrank::runners::promises {

namespace {

struct Word {
    Kept kept;
    std::string_view id, text;
};
constexpr std::array<Word, 5> words_of_cells = {{{Kept::kept, "kept", "kept"},
                                                 {Kept::late, "kept_late", "kept late"},
                                                 {Kept::broken, "broken", "broken"},
                                                 {Kept::not_promised, "not_promised", "not promised"},
                                                 {Kept::unknown, "unknown", "unknown"}}};

const Word& row_of(Kept kept) {
    return *std::find_if(words_of_cells.begin(), words_of_cells.end(),
                         [&](const Word& word) { return word.kept == kept; });
}

std::string ending_of(const PlayedRun& run) {
    if (run.failed) return run.last_output;
    if (!run.stuck.empty()) return run.stuck;
    return "not every worker reported its final state";
}

// Empty if the ask holds.
std::string describe_violation(Ask ask, const Promise& promise, const PlayedRun& run, const Measured& m) {
    switch (ask) {
        case Ask::finishes:
            return m.finished ? "" : "the training does not finish: " + ending_of(run);
        case Ask::same_parameters:
            return m.same_parameters ? "" : "the final parameters differ from the control's";
        case Ask::same_optimizer:
            return m.same_optimizer ? "" : "the optimizer's state differs from the control's";
        case Ask::same_random:
            return m.same_random ? "" : "the generator's state differs from the control's";
        case Ask::same_loss:
            return m.same_loss ? "" : "the last losses differ from the control's";
        case Ask::replicas_agree:
            return m.replicas_agree ? "" : "the workers end with different parameters";
        case Ask::no_sample_lost:
            return m.lost == 0 ? "" : fmt::format("{} samples are never seen", m.lost);
        case Ask::no_sample_twice:
            return m.twice == 0 ? "" : fmt::format("{} samples are seen twice", m.twice);
        case Ask::steps_redone:
            return m.redone <= promise.redone ? ""
                                              : fmt::format("{} steps are done again, {} at most is promised",
                                                            m.redone, promise.redone);
        case Ask::others_live:
            return m.lives_of_others == 0
                       ? ""
                       : fmt::format("workers without a fault are restarted {} times", m.lives_of_others);
        case Ask::no_restart:
            return m.lives == 0 ? "" : fmt::format("workers are restarted {} times", m.lives);
        case Ask::nothing_left:
            return m.processes_left == 0 ? "" : "processes are left running";
        case Ask::ends:
            return run.over ? "" : "it neither goes on nor ends: " + run.stuck;
        case Ask::ends_with_error:
            if (!run.stuck.empty()) return "it does not end: " + run.stuck;
            return run.failed ? "" : "no process ends with an error";
    }
    return {};
}

// A process that has a processor for a quarter of the time, as with four that want each, may pass a time-out
// of five seconds by the machine's fault.
constexpr double too_busy = 0.75;

std::string busy_machine(const PlayedRun& run) {
    return fmt::format(
        "; the machine was too busy to tell: its processes waited for a processor in {:.0f} % of ten seconds",
        100 * run.waited);
}

// The seconds that `within` bounds: until training continues, or until the error.
std::optional<double> took(const Promise& promise, const Measured& measured) {
    const bool error = std::count(promise.asks.begin(), promise.asks.end(), Ask::ends_with_error) > 0;
    return error ? measured.ended_after : measured.goes_on;
}

}  // namespace

std::string_view text_of(Kept kept) { return row_of(kept).text; }
std::string_view id_of(Kept kept) { return row_of(kept).id; }

std::optional<Kept> kept_of(std::string_view id) {
    const auto found = std::find_if(words_of_cells.begin(), words_of_cells.end(),
                                    [&](const Word& word) { return word.id == id; });
    return found == words_of_cells.end() ? std::nullopt : std::optional(found->kept);
}

PromiseVerdict verdict_of(const PromiseSubject& subject, const Promise& promise, const PlayedRun& run,
                          const PlayedRun& control) {
    const Measured measured = measure(run, control);
    PromiseVerdict verdict{Kept::kept, "", measured_text(measured, run.last_fault.has_value())};
    if (run.interrupted || !run.unpulled.empty()) {
        verdict.kept = Kept::unknown;
        verdict.why = run.unpulled.empty() ? run.stuck : run.unpulled;
        if (run.failed) verdict.why += "; " + run.last_output;
        return verdict;
    }
    if (returned_too_late(run)) {
        verdict.kept = Kept::unknown;
        verdict.why = "the others had finished before the worker was back";
        return verdict;
    }
    for (const Ask ask : promise.asks) {
        if (const std::string why = describe_violation(ask, promise, run, measured); !why.empty()) {
            verdict.kept = Kept::broken;
            verdict.why = why;
            if (!run.stuck.empty() && !run.failed && run.waited > too_busy) {
                verdict.kept = Kept::unknown;
                verdict.why += busy_machine(run);
            }
            return verdict;
        }
    }
    const auto after = took(promise, measured);
    if (promise.within > 0 && after && *after > promise.within) {
        verdict.kept = Kept::late;
        verdict.why = fmt::format("{:.1f} s, and {:g} s follow from {}'s settings", *after, promise.within,
                                  subject.framework);
        if (run.waited > too_busy) {
            verdict.kept = Kept::unknown;
            verdict.why += busy_machine(run);
        }
    }
    return verdict;
}

PromiseVerdict PromiseCell::worst() const {
    if (runs.empty()) return {};
    const auto rank = [](const PromiseVerdict& one) {
        switch (one.kept) {
            case Kept::broken:
                return 4;
            case Kept::late:
                return 3;
            case Kept::unknown:
                return 2;
            case Kept::kept:
                return 1;
            case Kept::not_promised:
                return 0;
        }
        return 0;
    };
    return *std::max_element(runs.begin(), runs.end(), [&](const PromiseVerdict& a, const PromiseVerdict& b) {
        return rank(a) < rank(b);
    });
}

std::string PromiseCell::text() const {
    const PromiseVerdict verdict = worst();
    const auto times = std::count_if(runs.begin(), runs.end(),
                                     [&](const PromiseVerdict& one) { return one.kept == verdict.kept; });
    if (runs.size() < 2) return std::string(text_of(verdict.kept));
    return fmt::format("{} ({} of {})", text_of(verdict.kept), times, runs.size());
}

const Promise* promise_under(const PromiseSubject& subject, std::string_view fault) {
    for (const Promise& promise : subject.promises) {
        if (std::find(promise.faults.begin(), promise.faults.end(), fault) != promise.faults.end())
            return &promise;
    }
    return nullptr;
}

}  // namespace deadrank::runners::promises
