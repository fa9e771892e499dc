// runners/commands/find/shrink_program.cpp — Each smaller case is a healthy run of its world size and a run with
// its faults.
#include "runners/commands/find/shrink_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "results/record/words.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "scenarios/format/fault_expression.h"
#include "scenarios/format/plan_file.h"

namespace deadrank::runners::commands {

namespace {

constexpr std::size_t shrink_tries_max = 300;

// The options with the size of a case. The size that the command itself has needs no option.
ProgramOptions resized(ProgramOptions options, const explore::ProgramCase& from,
                       const explore::ProgramCase& one) {
    if (one.ranks == from.ranks && one.nodes == from.nodes) return options;
    options.ranks = one.ranks;
    options.nodes = one.nodes;
    return options;
}

class ProgramShrinker {
public:
    ProgramShrinker(const ProgramOptions& options, explore::ProgramCase from, const explore::ProgramRun& run,
                    const Library& library, const Extension& extension)
        : options_(options),
          from_(std::move(from)),
          library_(library),
          extension_(extension),
          detectors_(library.detectors()),
          outcome_(run.outcome),
          words_(explore::words_without_numbers(run.says)) {}

    explore::ShrunkProgram operator()() {
        const auto stopped = [] { return stop_on_interrupt().load(); };
        const auto ends_alike = [&](const explore::ProgramCase& one) {
            progress_.show(fmt::format("  {}, {}", results::counted(++tries_, "smaller case"),
                                       fmt::join(one.faults, "; ")));
            return plays_alike(one);
        };
        auto shrunk = explore::shrink_program(from_, ends_alike, shrink_tries_max, stopped);
        progress_.clear();
        return shrunk;
    }

private:
    // A world size, with its healthy run.
    struct World {
        OpenedProgram program;
        std::unique_ptr<Runner> runner;
        std::unique_ptr<explore::ProgramTrials> trials;
        bool healthy = false;
    };

    // Null: the program does not run at this size.
    World* world(const explore::ProgramCase& one) {
        auto [found, fresh] = worlds_.try_emplace({one.ranks, one.nodes});
        World& world = found->second;
        if (!fresh) return world.healthy ? &world : nullptr;
        auto program = open_program(resized(options_, from_, one), extension_);
        if (!program) return nullptr;
        world.program = std::move(*program);
        world.runner = world.program.make_runner();
        world.trials = std::make_unique<explore::ProgramTrials>(
            world.program.healthy, PipelineOptions{.stop = &stop_on_interrupt(), .detectors = &detectors_});
        world.healthy = world.trials->control(*world.runner).has_value();
        return world.healthy ? &world : nullptr;
    }

    bool plays_alike(const explore::ProgramCase& one) {
        std::vector<scenarios::FaultSettings> faults;
        for (const std::string& line : one.faults) {
            auto fault = scenarios::read_fault_expression(line, library_.vocabulary);
            if (!fault) return false;
            faults.push_back(std::move(*fault));
        }
        World* played = world(one);
        if (!played) return false;
        auto plan = scenarios::with_faults(played->program.healthy, faults, library_.vocabulary);
        if (!plan) return false;
        plan->variant = scenarios::Variant::fault;
        const auto run = played->trials->play(*plan, *played->runner, played->runner.get());
        return run && run->outcome == outcome_ && explore::words_without_numbers(run->says) == words_;
    }

    const ProgramOptions& options_;
    const explore::ProgramCase from_;
    const Library& library_;
    const Extension& extension_;
    const results::Detectors detectors_;
    const explore::Outcome outcome_;
    const std::string words_;
    std::map<std::pair<std::int64_t, std::int64_t>, World> worlds_;  // by ranks and nodes
    std::size_t tries_ = 0;
    Progress progress_;
};

std::string python_list(const std::vector<std::string>& words) {
    std::vector<std::string> quoted;
    for (const std::string& word : words) quoted.push_back(nlohmann::json(word).dump());
    return fmt::format("[{}]", fmt::join(quoted, ", "));
}

}  // namespace

std::string test_text(const ProgramOptions& options, const std::vector<std::string>& faults,
                      explore::Outcome outcome) {
    std::string more;
    if (options.ranks > 0) more += fmt::format(", ranks={}", options.ranks);
    if (options.nodes > 0) more += fmt::format(", nodes={}", options.nodes);
    if (options.seed != 1) more += fmt::format(", seed={}", options.seed);
    if (options.gpus.count > 0) more += fmt::format(", gpus={}", options.gpus.count);
    if (options.gpus.count > 0 && options.gpus.model != SimulatedGpus().model)
        more += fmt::format(", gpu=\"{}\"", options.gpus.model);
    if (options.compute > 0)
        more += fmt::format(", compute=\"{}\"", scenarios::value_text({.type = scenarios::ValueType::duration,
                                                                       .number = options.compute}));
    if (options.real_limit != ProgramOptions().real_limit)
        more += fmt::format(", real_limit={}", options.real_limit);
    return fmt::format(
        "import deadrank\n\n"
        "def test_no_{0}():\n"
        "    ended = deadrank.run({1}, faults={2}{3})\n"
        "    assert ended.outcome != \"{0}\", ended.story()\n",
        explore::name_of(outcome), python_list(options.command), python_list(faults), more);
}

MinimalProgram shrink_program(const ProgramOptions& options, const std::vector<std::string>& faults,
                              const explore::ProgramRun& run, const Library& library,
                              const Extension& extension) {
    const scenarios::Plan& plan = run.control->plan;
    const explore::ProgramCase from{faults, plan.world_size(), plan.number(plan.cluster, "nodes")};
    MinimalProgram least{
        .shrunk = ProgramShrinker(options, from, run, library, extension)(), .again = {}, .test = {}};
    const ProgramOptions small = resized(options, from, least.shrunk.least);
    least.again = command_line("inject", small, least.shrunk.least.faults);
    least.test = test_text(small, least.shrunk.least.faults, run.outcome);
    return least;
}

}  // namespace deadrank::runners::commands
