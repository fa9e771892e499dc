// runners/commands/judge/parity_command.cpp — deadrank parity: how often the simulator finds what real
// processes find. Plays each scenario that both can play on both; the agreement rate is the project's claim
// to accuracy.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <memory>
#include <mutex>

#include "results/reports/terminal.h"
#include "results/text/words.h"
#include "runners/backends/catalog/backend.h"
#include "runners/console/command.h"
#include "runners/console/screen.h"
#include "runners/console/selection.h"
#include "runners/line/workers.h"
#include "runners/releases/release_results.h"
#include "runners/studies/parity.h"

namespace deadrank::runners::commands {

namespace {

using results::reports::Ink;
using results::reports::Style;

struct ParityArguments {
    SelectionOptions selection;
    std::string runner = "local", lines, table, summary, out;
    std::uint64_t seed = 1;
    std::int64_t ranks_most = 4;
    int jobs = 1;
    bool json = false, plan = false, releases = false;
};

void print_compared(const Compared& one, const Style& style) {
    const bool good = one.parity == Parity::agree || one.parity == Parity::explained;
    const Ink ink = one.parity == Parity::not_played ? Ink::dim : good ? Ink::green : Ink::red;
    fmt::print("  {} {}\n", style.paint(ink, fmt::format("{:<10}", name_of(one.parity))), one.scenario);
    if (one.parity == Parity::agree) fmt::print("{:13}{}\n", "", listed(one.real));
    if (one.parity == Parity::explained || one.parity == Parity::differ)
        fmt::print("{0:13}sim   {1}\n{0:13}real  {2}\n", "", listed(one.simulated), listed(one.real));
    if (one.parity != Parity::agree && !one.why.empty()) fmt::print("{:13}{}\n", "", one.why);
    if (one.stale()) fmt::print("{:13}its [parity] has a reason for a difference that is not there\n", "");
}

class ParityCommand {
public:
    ParityCommand(const ParityArguments& arguments, Session& session)
        : arguments_(arguments), session_(session) {}

    void operator()() {
        auto library = open_library(session_.executable, session_.extension, arguments_.selection.catalog);
        if (!session_.take(library)) return;
        library_ = &*library;
        auto reality = make_runner(arguments_.runner, session_.extension);
        if (!session_.take(reality)) return;
        if (arguments_.releases) return play_twins(**reality);
        auto selection = select(*library, arguments_.selection);
        if (!session_.take(selection)) return;
        for (const scenarios::Error& error : selection->broken) session_.complain(error);
        page_.backend = arguments_.runner;
        for (const scenarios::Scenario& scenario : selection->scenarios) sort_out(scenario, **reality);
        if (arguments_.plan) return show_plan();
        if (!keep_earlier(**reality)) return;
        play_all();
        finish();
    }

private:
    // Bugs of published releases, each beside the simulated scenario of its kind.
    void play_twins(Runner& reality) {
        auto sim = make_runner("sim", session_.extension);
        if (!session_.take(sim)) return;
        auto collection = releases::open_collection(*library_, arguments_.selection.names);
        if (!session_.take(collection)) return;
        page_.backend = arguments_.runner;
        LineOptions options;
        options.stop = &stop_on_interrupt();
        for (const releases::ReleaseBug& bug : collection->bugs) {
            if (options.stop->load()) break;
            if (bug.release.twin.empty()) continue;
            take(releases::compare_twins(*library_, bug, **sim, reality, options));
        }
        stopped_ = options.stop->load();
        finish();
    }

    // A scenario is played if it was named or its file lists the backend; for the others, says why not,
    // without playing.
    void sort_out(const scenarios::Scenario& scenario, Runner& reality) {
        const bool asked = !arguments_.selection.names.empty() || playable_on(scenario, arguments_.runner);
        if (asked && !arguments_.plan) return due_.push_back(scenario);
        Compared one{.scenario = scenario.id};
        one.why = why_not_on_paper(scenario, {arguments_.seed}, reality, arguments_.ranks_most,
                                   library_->vocabulary);
        if (arguments_.plan) return page_.not_tried.push_back(std::move(one));
        if (one.why.empty()) one.why = "it could be, and its file does not say that it was tried";
        page_.not_tried.push_back(std::move(one));
    }

    void show_plan() {
        std::size_t can = 0;
        for (const Compared& one : page_.not_tried) {
            can += one.why.empty();
            if (arguments_.json) {
                fmt::print("{}\n", parity_line(one));
            } else {
                fmt::print("  {:<8} {}\n", one.why.empty() ? "playable" : "not", one.scenario);
                if (!one.why.empty()) fmt::print("{:11}{}\n", "", one.why);
            }
        }
        if (arguments_.json) return;
        std::erase_if(page_.not_tried, [](const Compared& one) { return one.why.empty(); });
        fmt::print("\n  {} of {} can be played with --runner {}\n", can,
                   results::counted(can + page_.not_tried.size(), "scenario"), arguments_.runner);
        print_reasons();
    }

    // What an earlier run has played is repeated in the simulator only, which may have changed since.
    bool keep_earlier(Runner& reality) {
        if (arguments_.lines.empty()) return true;
        auto earlier = read_parity(arguments_.lines);
        if (!session_.take(earlier)) return false;
        auto sim = make_runner("sim", session_.extension);
        if (!session_.take(sim)) return false;
        for (Compared& one : *earlier) {
            if (one.parity == Parity::not_played) continue;
            const auto same = std::find_if(due_.begin(), due_.end(),
                                           [&](const auto& other) { return other.id == one.scenario; });
            if (same == due_.end()) continue;
            one.simulated = simulated_findings(*same, {arguments_.seed}, **sim, reality,
                                               arguments_.ranks_most, library_->vocabulary);
            const auto reason = same->parity.find(arguments_.runner);
            conclude(one, reason == same->parity.end() ? "" : reason->second);
            due_.erase(same);
            page_.compared.push_back(std::move(one));
        }
        lines_.open(arguments_.lines, std::ios::app);
        if (lines_) return true;
        session_.complain({scenarios::ErrorCode::io, fmt::format("'{}' cannot be written", arguments_.lines),
                           "name another file"});
        return false;
    }

    void play_all() {
        std::atomic<bool>& stop = stop_on_interrupt();
        std::mutex mutex;
        Progress progress;
        LineOptions options;
        options.stop = &stop;
        options.out = arguments_.out;
        Workers workers;
        workers.make_runner = [&] { return *make_runner(arguments_.runner, session_.extension); };
        workers.threads = arguments_.jobs;
        workers.stop = &stop;
        for_each_index(due_.size(), workers, [&](std::size_t at, Runner& reality) {
            auto sim = make_runner("sim", session_.extension);
            Compared one = compare(due_[at], {arguments_.seed}, **sim, reality, arguments_.ranks_most,
                                   library_->vocabulary, options);
            if (stop.load()) return;
            const std::lock_guard lock(mutex);
            progress.clear();
            take(std::move(one));
            progress.show(fmt::format("  {} of {} scenarios", page_.compared.size(), due_.size()));
        });
        progress.clear();
        stopped_ = stop.load();
    }

    void take(Compared&& one) {
        arguments_.json ? fmt::print("{}\n", parity_line(one)) : print_compared(one, style_of(stdout));
        std::fflush(stdout);
        if (lines_.is_open()) lines_ << parity_line(one) << std::endl;
        page_.compared.push_back(std::move(one));
    }

    void print_reasons() const {
        for (const Reasons& reasons : reasons_of(page_)) {
            const std::string names = fmt::format("{}", fmt::join(reasons.names, ", "));
            fmt::print("  {:>5}  {}{}\n", reasons.scenarios, reasons.kind, names.empty() ? "" : ": " + names);
        }
    }

    void finish() {
        std::sort(page_.compared.begin(), page_.compared.end(),
                  [](const Compared& a, const Compared& b) { return a.scenario < b.scenario; });
        ParityRate rate;
        for (const Compared& one : page_.compared) rate.add(one.parity);
        if (!arguments_.json) print_rate(rate);
        const auto complain = [&](const scenarios::Result<void>& written) {
            if (!written) session_.complain(written.error());
        };
        if (!arguments_.table.empty() && !stopped_) complain(write_parity_table(page_, arguments_.table));
        if (!arguments_.summary.empty() && !stopped_)
            complain(write_parity_summary(page_, arguments_.summary));
        if (session_.code == exit_pass && rate.played() == 0) session_.code = exit_unknown;
        if (rate.differed > 0) session_.code = exit_fail;
        if (stopped_) session_.code = exit_interrupted;
    }

    void print_rate(const ParityRate& rate) const {
        fmt::print("\n  {}\n", rate.text(arguments_.runner));
        std::vector<std::string> stale;
        for (const Compared& one : page_.compared)
            if (one.stale()) stale.push_back(one.scenario);
        if (!stale.empty())
            fmt::print("  agree, and have a [parity] that says why not: {}\n", fmt::join(stale, ", "));
        const std::size_t rest = page_.scenarios() - rate.played();
        if (rest > 0)
            fmt::print("  {} of {} could not be played by both:\n", rest,
                       results::counted(page_.scenarios(), "scenario"));
        print_reasons();
    }

    const ParityArguments& arguments_;
    Session& session_;
    const Library* library_ = nullptr;
    std::vector<scenarios::Scenario> due_;
    ParityPage page_;
    std::ofstream lines_;
    bool stopped_ = false;
};

void add_parity(CLI::App& command, Session& session) {
    command.footer(
        "Without names: each scenario whose `backends` has that runner; of the others is told, on paper, why "
        "they cannot be played. What is compared is who is said to be ill, and of what. A scenario whose "
        "[parity] has a reason for that runner may differ.\n\n"
        "Exit code: 0 each difference has a reason, 1 one has none, 2 nothing could be played by both.\n\n"
        "Examples:\n"
        "  deadrank parity                               the catalog, against real PyTorch processes\n"
        "  deadrank parity --plan                        which could be played, and of the others why not\n"
        "  deadrank parity --runner mpi                  against Open MPI\n"
        "  deadrank parity --jobs 3 --lines parity.jsonl --table PARITY.md\n"
        "                                                goes on where it was stopped, and writes a page");
    auto arguments = std::make_shared<ParityArguments>();
    add_selection(command, arguments->selection);
    command
        .add_option("--runner", arguments->runner,
                    "What is held against the simulator: local, mpi, gpu [local]")
        ->type_name("NAME");
    command.add_option("--seed", arguments->seed, "The draw that both play [1]")->type_name("N");
    command
        .add_option("--ranks-most", arguments->ranks_most,
                    "Larger scenarios are played by both on that many ranks [4]")
        ->type_name("N")
        ->check(CLI::Range(1, 1024).description(""));
    command.add_option("-j,--jobs", arguments->jobs, "Scenarios at once [1]")
        ->type_name("N")
        ->check(CLI::Range(1, 64).description(""));
    command.add_flag(
        "--releases", arguments->releases,
        "Bugs of published releases instead, each beside the simulated scenario of its kind: are "
        "the symptoms the same?");
    command.add_flag("--plan", arguments->plan,
                     "Play nothing: say what can be played, and why the rest cannot");
    command
        .add_option("--lines", arguments->lines,
                    "Keep a line of JSON a scenario there; what it has already is not played for real again")
        ->type_name("FILE");
    command.add_option("--table", arguments->table, "Write all of it as Markdown")->type_name("FILE");
    command.add_option("--summary", arguments->summary, "Write the counts as Markdown")->type_name("FILE");
    command
        .add_option("-o,--out", arguments->out, "Keep plans, evidence and truth below DIR/sim and DIR/RUNNER")
        ->type_name("DIR");
    add_json(command, arguments->json, "One JSON object a line and scenario");
    command.callback([arguments, &session] { ParityCommand(*arguments, session)(); });
}

}  // namespace

extern const CommandRow parity_row{
    "parity", "Plays scenarios in the simulator and for real, and tells how often the findings agree",
    add_parity};

}  // namespace deadrank::runners::commands
