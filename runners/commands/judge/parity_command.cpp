// runners/commands/judge/parity_command.cpp — deadrank report parity: how often the simulator finds what real
// processes find. Plays each scenario that both can play on both; the agreement rate is the project's claim
// to accuracy.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>

#include "results/record/words.h"
#include "results/reports/terminal.h"
#include "runners/backends/catalog/backend.h"
#include "runners/commands/command.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/commands/trust.h"
#include "runners/parity/parity.h"
#include "runners/pipeline/workers.h"
#include "runners/releases/release_results.h"

namespace deadrank::runners::commands {

namespace {

using results::reports::Ink;
using results::reports::Style;

struct ParityArguments {
    SelectionOptions selection;
    std::string runner = "local", table, summary, out;
    std::vector<std::string> lines;
    SeedOptions seeds;
    std::optional<std::uint64_t> held_out;
    std::int64_t ranks_most = 4;
    int jobs = 1;
    bool json = false, plan = false, releases = false, trust = false;
};

void print_compared(const Compared& one, const Style& style) {
    const bool good = one.parity == Parity::agree || one.parity == Parity::explained;
    const Ink ink = one.parity == Parity::not_played ? Ink::dim : good ? Ink::green : Ink::red;
    print_out("  {} {}  {}\n", style.paint(ink, fmt::format("{:<10}", name_of(one.parity))), one.scenario,
              style.paint(Ink::dim, fmt::format("seed {}", one.seed)));
    if (one.parity == Parity::agree) print_out("{:13}{}\n", "", listed(one.real));
    if (one.parity == Parity::explained || one.parity == Parity::differ)
        print_out("{0:13}sim   {1}\n{0:13}real  {2}\n", "", listed(one.simulated), listed(one.real));
    if (one.parity != Parity::agree && !one.why.empty()) print_out("{:13}{}\n", "", one.why);
    if (one.stale()) print_out("{:13}its [parity] has a reason for a difference that is not there\n", "");
}

class ParityCommand {
public:
    ParityCommand(const ParityArguments& arguments, Session& session)
        : arguments_(arguments), session_(session) {}

    void operator()() {
        auto seeds = seeds_of(arguments_.seeds);
        if (!session_.take(seeds)) return;
        seeds_ = std::move(*seeds);
        auto library = open_library(session_.executable, session_.extension, arguments_.selection.catalog);
        if (!session_.take(library)) return;
        library_ = &*library;
        auto reality = make_runner(arguments_.runner, session_.extension);
        if (!session_.take(reality)) return;
        if (arguments_.releases) return play_twins(**reality);
        auto selection = select(*library, arguments_.selection);
        if (!session_.take(selection)) return;
        for (const scenarios::Error& error : selection->broken) session_.complain(error);
        if (!arguments_.plan && !arguments_.trust) {
            if (auto trusted = check_trust(*library, selection->scenarios); !trusted)
                return session_.complain(trusted.error());
        }
        page_.backend = arguments_.runner;
        page_.held_out = arguments_.held_out;
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
        PipelineOptions options;
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
        if (asked && !arguments_.plan) {
            for (const scenarios::Seed seed : seeds_) due_.push_back({scenario, seed});
            return;
        }
        Compared one{.scenario = scenario.id, .seed = seeds_.front().number};
        one.why =
            why_not_on_paper(scenario, seeds_.front(), reality, arguments_.ranks_most, library_->vocabulary);
        if (arguments_.plan) return page_.not_tried.push_back(std::move(one));
        if (one.why.empty()) one.why = "it could be, and its file does not say that it was tried";
        page_.not_tried.push_back(std::move(one));
    }

    void show_plan() {
        std::size_t can = 0;
        for (const Compared& one : page_.not_tried) {
            can += one.why.empty();
            if (arguments_.json) {
                print_out("{}\n", parity_line(one));
            } else {
                print_out("  {:<8} {}\n", one.why.empty() ? "playable" : "not", one.scenario);
                if (!one.why.empty()) print_out("{:11}{}\n", "", one.why);
            }
        }
        if (arguments_.json) return;
        std::erase_if(page_.not_tried, [](const Compared& one) { return one.why.empty(); });
        print_out("\n  {} of {} can be played with --runner {}\n", can,
                  results::counted(can + page_.not_tried.size(), "scenario"), arguments_.runner);
        print_reasons();
    }

    // One file for all seeds, or one for each. A line of an older run does not name its seed: it is its
    // file's.
    std::size_t file_of(scenarios::Seed seed) const {
        if (arguments_.lines.size() < 2) return 0;
        return static_cast<std::size_t>(
            std::find_if(seeds_.begin(), seeds_.end(),
                         [&](const scenarios::Seed& one) { return one.number == seed.number; }) -
            seeds_.begin());
    }

    // What an earlier run has played is repeated in the simulator only, which may have changed since.
    bool keep_earlier(Runner& reality) {
        const std::size_t files = arguments_.lines.size();
        if (files > 1 && files != seeds_.size()) {
            session_.complain(
                {scenarios::ErrorCode::usage,
                 fmt::format("{} files of lines for {}", files, results::counted(seeds_.size(), "seed")),
                 "name one --lines FILE, or one for each of --seeds, in their order"});
            return false;
        }
        for (std::size_t at = 0; at < files; ++at) {
            auto earlier = read_parity(arguments_.lines[at], seeds_[at].number);
            if (!session_.take(earlier) || !keep(*earlier, reality)) return false;
            lines_.emplace_back(arguments_.lines[at], std::ios::app);
            if (lines_.back()) continue;
            session_.complain({scenarios::ErrorCode::io,
                               fmt::format("'{}' cannot be written", arguments_.lines[at]),
                               "name another file"});
            return false;
        }
        return true;
    }

    bool keep(std::vector<Compared>& earlier, Runner& reality) {
        auto sim = make_runner("sim", session_.extension);
        if (!session_.take(sim)) return false;
        for (Compared& one : earlier) {
            if (one.parity == Parity::not_played) continue;
            const auto same = std::find_if(due_.begin(), due_.end(), [&](const Due& other) {
                return other.scenario.id == one.scenario && other.seed.number == one.seed;
            });
            if (same == due_.end()) continue;
            simulate_again(one, same->scenario, **sim, reality, arguments_.ranks_most, library_->vocabulary);
            due_.erase(same);
            page_.compared.push_back(std::move(one));
        }
        return true;
    }

    void play_all() {
        std::atomic<bool>& stop = stop_on_interrupt();
        std::mutex mutex;
        std::size_t played = 0;
        Progress progress;
        PipelineOptions options;
        options.stop = &stop;
        options.out = arguments_.out;
        Workers workers;
        workers.make_runner = [&] { return *make_runner(arguments_.runner, session_.extension); };
        workers.threads = arguments_.jobs;
        workers.stop = &stop;
        for_each_index(due_.size(), workers, [&](std::size_t at, Runner& reality) {
            auto sim = make_runner("sim", session_.extension);
            Compared one = compare(due_[at].scenario, due_[at].seed, **sim, reality, arguments_.ranks_most,
                                   library_->vocabulary, options);
            if (stop.load()) return;
            const std::lock_guard lock(mutex);
            progress.clear();
            take(std::move(one));
            progress.show(fmt::format("  {} of {} runs", ++played, due_.size()));
        });
        progress.clear();
        stopped_ = stop.load();
    }

    void take(Compared&& one) {
        arguments_.json ? print_out("{}\n", parity_line(one)) : print_compared(one, style_of(stdout));
        flush_out();
        if (!lines_.empty()) lines_[file_of({one.seed})] << parity_line(one) << std::endl;
        page_.compared.push_back(std::move(one));
    }

    void print_reasons() const {
        for (const Reasons& reasons : reasons_of(page_)) {
            const std::string names = fmt::format("{}", fmt::join(reasons.names, ", "));
            print_out("  {:>5}  {}{}\n", reasons.scenarios, reasons.kind, names.empty() ? "" : ": " + names);
        }
    }

    void finish() {
        std::sort(page_.compared.begin(), page_.compared.end(), [](const Compared& a, const Compared& b) {
            return std::tie(a.scenario, a.seed) < std::tie(b.scenario, b.seed);
        });
        ParityRate whole;
        for (const Compared& one : page_.compared) whole.add(one);
        if (!arguments_.json) print_rates();
        const auto complain = [&](const scenarios::Result<void>& written) {
            if (!written) session_.complain(written.error());
        };
        if (!arguments_.table.empty() && !stopped_) complain(write_parity_table(page_, arguments_.table));
        if (!arguments_.summary.empty() && !stopped_)
            complain(write_parity_summary(page_, arguments_.summary));
        if (session_.code == exit_pass && whole.played() == 0) session_.code = exit_unknown;
        if (whole.differed > 0) session_.code = exit_fail;
        if (stopped_) session_.code = exit_interrupted;
    }

    void print_rates() const {
        print_out("\n");
        const auto rates = page_.by_seed(), held = page_.by_seed(true);
        for (const auto& [seed, rate] : rates)
            print_out("  seed {}: {}\n", seed, rate.text(arguments_.runner));
        if (rates.size() > 1) print_out("  the same findings in {}, by seed\n", spread_text(rates));
        if (page_.held_out && !held.empty())
            print_out("  of the quarter that {} keeps out of tuning: {}\n", *page_.held_out,
                      spread_text(held));
        std::set<std::string> stale;
        for (const auto& [scenario, seeds] : page_.by_scenario())
            if (std::all_of(seeds.begin(), seeds.end(), [](const Compared* one) { return one->stale(); }))
                stale.insert(scenario);
        if (!stale.empty())
            print_out("  agree, and have a [parity] that says why not: {}\n", fmt::join(stale, ", "));
        print_unplayed();
    }

    void print_unplayed() const {
        std::size_t rest = 0;
        for (const Reasons& reasons : reasons_of(page_)) rest += reasons.scenarios;
        if (rest == 0) return;
        print_out("  {} of {} could not be played by both:\n", rest,
                  results::counted(page_.scenarios(), "scenario"));
        print_reasons();
    }

    const ParityArguments& arguments_;
    Session& session_;
    const Library* library_ = nullptr;
    struct Due {
        scenarios::Scenario scenario;
        scenarios::Seed seed;
    };
    std::vector<scenarios::Seed> seeds_;
    std::vector<Due> due_;
    ParityPage page_;
    std::vector<std::ofstream> lines_;  // one for all seeds, or one for each
    bool stopped_ = false;
};

void add_parity(CLI::App& command, Session& session) {
    command.footer(
        "Without names: each scenario whose `backends` has that runner; for the others the reason is printed. "
        "Symptoms and blamed ranks are compared. A scenario whose [parity] has a reason for that runner may "
        "differ. Under several seeds the page shows the share of each, the least and the most.\n\n"
        "Exit code: 0 each difference has a reason, 1 one has none, 2 nothing could be played by both.\n\n"
        "Examples:\n"
        "  deadrank report parity                               the catalog, against real PyTorch processes\n"
        "  deadrank report parity --plan                        which could be played, and of the others why "
        "not\n"
        "  deadrank report parity --runner mpi                  against Open MPI\n"
        "  deadrank report parity --jobs 3 --seeds 1..3 --held-out 20261123 --lines parity.jsonl --table "
        "PARITY.md\n"
        "                                                goes on where it was stopped, and writes a page\n"
        "  deadrank report parity --seeds 1..2 --lines one.jsonl --lines two.jsonl --table PARITY.md\n"
        "                                                a file for each seed");
    auto arguments = std::make_shared<ParityArguments>();
    add_selection(command, arguments->selection);
    command
        .add_option("--runner", arguments->runner,
                    "What is compared with the simulator: local, mpi, gpu [local]")
        ->type_name("NAME");
    add_trust(command, arguments->trust);
    add_seeds(command, arguments->seeds);
    command
        .add_option("--held-out", arguments->held_out,
                    "Mark the quarter of the scenarios that this number draws as kept out of tuning, and "
                    "count it apart")
        ->type_name("N");
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
                     "Play nothing: list what can be played, and why the rest cannot");
    command
        .add_option(
            "--lines", arguments->lines,
            "Keep a line of JSON a scenario and seed there; what it has already is not played for real "
            "again. Repeat it for a file a seed, in the order of the seeds")
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
    "parity", "Plays scenarios in the simulator and for real, and counts equal findings",
    add_parity};

}  // namespace deadrank::runners::commands
