// runners/commands/find/sweep_orders.cpp — deadrank sweep --orders N -- torchrun … train.py: does how a program ends
// depend on what comes first where any order is possible?
#include <algorithm>
#include <atomic>
#include <chrono>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "results/record/words.h"
#include "results/reports/json_files.h"
#include "runners/backends/catalog/backend.h"
#include "runners/commands/find/sweep_program.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/explore/program_orders.h"

namespace deadrank::runners::commands {

namespace {

using explore::OrderRun;
using explore::Outcome;
using explore::ProgramOrders;
using explore::RunDifference;
using results::reports::Ink;
using results::reports::Json;
using results::reports::Style;

class ProgramOrdersCommand {
public:
    ProgramOrdersCommand(const ProgramSweepArguments& arguments, Session& session)
        : arguments_(arguments), session_(session), style_(style_of(stdout)) {}

    void operator()() {
        auto library = open_library(session_.executable, session_.extension, "");
        if (!session_.take(library)) return;
        auto program = open_program(arguments_.program, session_.extension);
        if (!session_.take(program)) return;
        const results::Detectors detectors = library->detectors();
        std::atomic<bool>& stop = stop_on_interrupt();
        explore::ProgramTrials trials(program->healthy, {.stop = &stop, .detectors = &detectors});
        const auto begin = std::chrono::steady_clock::now();
        Progress progress;
        std::mutex screen;
        Workers workers;
        workers.make_runner = program->make_runner;
        workers.threads = arguments_.jobs > 0 ? arguments_.jobs : usual_jobs("sim");
        workers.stop = &stop;
        workers.progress = [&](std::size_t done, std::size_t all) {
            const std::lock_guard lock(screen);
            progress.show(fmt::format("  {} of {}", done, results::counted(all, "order")));
        };
        const auto orders = explore::play_orders(trials, arguments_.orders, workers);
        progress.clear();
        if (stop.load()) session_.code = exit_interrupted;
        if (!orders) {
            if (!stop.load()) session_.complain(orders.error());
            return;
        }
        const auto differences = stop.load() ? Differences{} : find_differences(*orders, trials, *program);
        const double seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        if (arguments_.json)
            print_out("{}\n", results::reports::dumped(json_of(*orders, differences), 1));
        else
            print_out("{}", text_of(*orders, differences, seconds));
        if (session_.code == exit_pass) session_.code = code_of(*orders);
    }

private:
    using Differences = std::map<std::uint64_t, RunDifference>;  // by the order's seed

    // Of the first run of each ending that is not the usual one. Where they cannot be played, the endings still hold.
    Differences find_differences(const ProgramOrders& orders, const explore::ProgramTrials& trials,
                                 const OpenedProgram& program) const {
        const auto telling = make_telling_runner(program, session_.extension);
        std::vector<std::uint64_t> seeds;
        for (std::size_t i = 0; i < orders.runs.size(); ++i) {
            const OrderRun& run = orders.runs[i];
            if (run.like == i && run.outcome != Outcome::unaffected && run.outcome != Outcome::unknown)
                seeds.push_back(run.seed);
        }
        auto found = explore::find_order_differences(trials, seeds, *telling);
        return found ? std::move(*found) : Differences{};
    }

    bool fails(const OrderRun& run) const {
        const auto& accepted = arguments_.accepted;
        return run.outcome != Outcome::unaffected && run.outcome != Outcome::unknown &&
               std::find(accepted.begin(), accepted.end(), explore::name_of(run.outcome)) == accepted.end();
    }

    int code_of(const ProgramOrders& orders) const {
        const auto any = [&](const auto& holds) { return std::any_of(orders.runs.begin(), orders.runs.end(), holds); };
        if (any([&](const OrderRun& run) { return fails(run); })) return exit_fail;
        return any([](const OrderRun& run) { return run.outcome == Outcome::unknown; }) ? exit_unknown : exit_pass;
    }

    std::string again(const OrderRun& run) const {
        return command_line(fmt::format("watch --simulated --order {}", run.seed), arguments_.program, {});
    }

    std::string text_of(const ProgramOrders& orders, const Differences& differences, double seconds) const {
        std::map<std::size_t, std::size_t> alike;
        for (const OrderRun& run : orders.runs) ++alike[run.like];
        std::string text;
        for (const auto& [first, count] : alike) {
            const OrderRun& run = orders.runs[first];
            const bool usual = run.outcome == Outcome::unaffected;
            text += fmt::format("  {} {} in {}{}\n",
                                style_.paint(usual ? Ink::green : Ink::red, explore::sign_of(run.outcome)),
                                style_.paint(Ink::bold, usual ? "the usual result" : explore::text_of(run.outcome)),
                                results::counted(count, "order"),
                                usual ? "" : fmt::format(", first {}: {}", run.seed, run.says));
            if (const auto found = differences.find(run.seed); found != differences.end()) {
                const RunDifference& one = found->second;
                text += fmt::format(
                    "      first difference: rank {}, {}\n        usual order  {}\n        order {:<6} {}\n",
                    one.rank, results::duration_text(one.at), explore::event_with_line(one.one, one.one_line),
                    run.seed, explore::event_with_line(one.other, one.other_line));
            }
            if (!usual) text += fmt::format("      {}\n", style_.paint(Ink::cyan, again(run)));
        }
        text += fmt::format("\n  {}, {} of them different · {} · {:.1f} s\n",
                            results::counted(orders.runs.size(), "order"), orders.distinct,
                            orders.depends() ? "the program depends on their order" : "the result is the same in all",
                            seconds);
        if (orders.runs.size() < orders.planned)
            text += fmt::format("  stopped before {} of {} were played\n", orders.planned - orders.runs.size(),
                                orders.planned);
        return text;
    }

    Json json_of(const ProgramOrders& orders, const Differences& differences) const {
        Json runs = Json::array();
        for (const OrderRun& run : orders.runs) {
            Json one = {{"order", run.seed},
                        {"outcome", explore::name_of(run.outcome)},
                        {"says", run.says},
                        {"trace_hash", fmt::format("{:016x}", run.trace_hash)},
                        {"again", again(run)}};
            if (const auto found = differences.find(run.seed); found != differences.end()) {
                const RunDifference& first = found->second;
                one["first_difference"] = {{"rank", first.rank},   {"at_ns", first.at.count()},
                                           {"usual", first.one},   {"usual_line", first.one_line},
                                           {"drawn", first.other}, {"drawn_line", first.other_line}};
            }
            runs.push_back(std::move(one));
        }
        return {{"planned", orders.planned},
                {"distinct", orders.distinct},
                {"depends", orders.depends()},
                {"orders", std::move(runs)}};
    }

    const ProgramSweepArguments& arguments_;
    Session& session_;
    Style style_;
};

}  // namespace

void sweep_orders(const ProgramSweepArguments& arguments, Session& session) {
    ProgramOrdersCommand(arguments, session)();
}

}  // namespace deadrank::runners::commands
