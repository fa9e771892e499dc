// runners/commands/play/determinism_of_program.cpp — Plays a program several times and names the first event
// that differs.
#include "runners/commands/play/determinism_of_program.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <optional>

#include "results/record/words.h"
#include "results/reports/terminal.h"
#include "runners/commands/screen.h"
#include "runners/commands/under_test.h"
#include "runners/explore/moments.h"

namespace deadrank::runners::commands {

namespace {

using results::Event;
using results::Evidence;
using results::reports::event_text;

constexpr int tries_max = 4;  // to see the difference again, with the lines of Python

std::string text_at(const Evidence& evidence, std::size_t index) {
    if (index >= evidence.events().size()) return "the run had ended";
    return event_text(evidence, evidence.events()[index]);
}

std::optional<std::size_t> first_differing_event(const Evidence& one, const Evidence& other) {
    const std::size_t both = std::min(one.events().size(), other.events().size());
    for (std::size_t i = 0; i < both; ++i)
        if (text_at(one, i) != text_at(other, i)) return i;
    if (one.events().size() != other.events().size()) return both;
    return std::nullopt;
}

// The line that the rank of this event was at; empty if it told none.
std::string line_before(const Evidence& evidence, std::size_t index) {
    if (index >= evidence.events().size()) return {};
    const results::Rank rank = evidence.events()[index].rank;
    for (std::size_t i = index + 1; i-- > 0;) {
        const Event& event = evidence.events()[i];
        const auto* log = event.rank == rank ? event.as<results::RankLog>() : nullptr;
        if (!log) continue;
        const std::string_view line = evidence.text(log->line);
        if (line.starts_with(explore::source_line_prefix))
            return fmt::format("rank {} at {}", rank, line.substr(explore::source_line_prefix.size()));
    }
    return {};
}

class ProgramCheck {
public:
    ProgramCheck(const ProgramRuns& wanted, ManagedSettings settings, Session& session)
        : wanted_(wanted), settings_(std::move(settings)), session_(session) {}

    void operator()() {
        auto first = play(false);
        if (!first) return;
        for (int run = 2; run <= wanted_.runs; ++run) {
            const auto next = play(false);
            if (!next) return;
            if (next->trace_hash != first->trace_hash) return report(*first, *next, run);
        }
        print_out(
            "  ✔ one run: trace {:016x}, {} events, {} ranks, played {} times in interpreters of their own\n",
            first->trace_hash, first->evidence.events().size(), settings_.command.ranks(), wanted_.runs);
    }

private:
    // Nothing after what stopped it has been reported.
    std::optional<Record> play(bool lines) {
        ManagedSettings settings = settings_;
        settings.warm = std::make_shared<WarmPython>();
        settings.tell_lines = lines;
        RunOptions options;
        options.stop = &stop_on_interrupt();
        auto record = ManagedRunner(settings, session_.extension.all_faults())
                          .run(plan_of(settings.command, {wanted_.seed}), options);
        if (options.stop->load()) {
            session_.code = exit_interrupted;
            return std::nullopt;
        }
        if (!session_.take(record)) return std::nullopt;
        return std::move(*record);
    }

    void report(const Record& first, const Record& next, int run) {
        session_.code = exit_fail;
        print_out("  ✘ run {} differs from the first: trace {:016x} and {:016x}\n", run, next.trace_hash,
                   first.trace_hash);
        // The lines are evidence themselves, so the runs that show them are runs of their own.
        std::optional<Record> one = play(true);
        for (int i = 0; one && i < tries_max; ++i) {
            const auto other = play(true);
            if (!other) return;
            if (const auto at = first_differing_event(one->evidence, other->evidence))
                return print(one->evidence, other->evidence, *at, true);
        }
        if (!one) return;
        if (const auto at = first_differing_event(first.evidence, next.evidence))
            return print(first.evidence, next.evidence, *at, false);
        print_out(
            "    the evidence of both is the same: they differ in the order of the simulator's own events\n");
    }

    static void print(const Evidence& one, const Evidence& other, std::size_t at, bool lines) {
        print_out("    first differing event: {}\n      here   {}\n      there  {}\n", at, text_at(one, at),
                   text_at(other, at));
        if (!lines)
            print_out("    no line of Python: {} more runs with their lines were the same\n", tries_max + 1);
        const std::string here = line_before(one, at), there = line_before(other, at);
        if (!here.empty()) print_out("    caused at {}\n", here);
        if (!there.empty() && there != here) print_out("    there      {}\n", there);
    }

    const ProgramRuns& wanted_;
    ManagedSettings settings_;
    Session& session_;
};

}  // namespace

void check_program(const ProgramRuns& wanted, Session& session) {
    auto settings = managed_program(wanted.command, wanted.ranks, wanted.gpus);
    if (!session.take(settings)) return;
    settings->real_limit = std::chrono::seconds(wanted.real_limit);
    ProgramCheck(wanted, std::move(*settings), session)();
}

}  // namespace deadrank::runners::commands
