// runners/commands/program_options.cpp — What the commands that explore a program of the user's share.
#include "runners/commands/program_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>

#include "results/reports/terminal.h"
#include "runners/commands/gpu_options.h"
#include "runners/commands/ranges.h"
#include "runners/commands/screen.h"
#include "runners/commands/under_test.h"
#include "runners/extension/extension.h"
#include "scenarios/format/fault_expression.h"

namespace deadrank::runners::commands {

using results::reports::shell_quoted;

void add_program_options(CLI::App& command, ProgramOptions& options) {
    command.add_option("--command", options.command)->allow_extra_args(false)->group("");
    command.add_option("--ranks", options.ranks, "Number of ranks, instead of the command's")
        ->type_name("N")
        ->check(CLI::Range(1, 100000).description(""));
    command.add_option("--nodes", options.nodes, "Spread the ranks evenly over so many nodes")
        ->type_name("N")
        ->check(CLI::Range(1, 100000).description(""));
    command.add_option("--seed", options.seed, "Seed of every draw [1]")
        ->type_name("N")
        ->check(whole_number());
    add_gpus(command, options.gpus);
    add_real_limit(command, options.real_limit);
    add_compute(command, options.compute);
}

scenarios::Result<OpenedProgram> open_program(const ProgramOptions& options, const Extension& extension) {
    if (options.command.empty())
        return scenarios::refuse(scenarios::ErrorCode::usage, "there is no program",
                                 "write its command behind --, as in -- torchrun --nproc-per-node 8 train.py");
    auto settings = managed_program(options.command, options.ranks, options.gpus);
    if (!settings) return tl::unexpected(settings.error());
    if (options.nodes > 0) {
        const std::int64_t ranks = settings->command.ranks();
        if (ranks % options.nodes != 0)
            return scenarios::refuse(scenarios::ErrorCode::usage,
                                     fmt::format("{} ranks do not fill {} nodes evenly", ranks, options.nodes),
                                     "pass a divisor as --nodes, or another --ranks");
        settings->command.nodes = options.nodes;
        settings->command.ranks_per_node = ranks / options.nodes;
    }
    settings->real_limit = std::chrono::seconds(options.real_limit);
    settings->compute = options.compute;
    OpenedProgram program{.settings = *settings,
                          .healthy = plan_of(settings->command, {options.seed}),
                          .make_runner = {}};
    program.make_runner = [settings = std::move(*settings), faults = extension.all_faults()] {
        return std::make_unique<ManagedRunner>(settings, faults);
    };
    return program;
}

std::unique_ptr<Runner> make_telling_runner(const OpenedProgram& program, const Extension& extension) {
    ManagedSettings settings = program.settings;
    settings.tell_lines = true;
    return std::make_unique<ManagedRunner>(std::move(settings), extension.all_faults());
}

scenarios::Result<void> check_repeats(explore::ProgramTrials& trials, Runner& runner,
                                      const OpenedProgram& program, const Extension& extension) {
    const auto differs = trials.difference_of_two(runner, *make_telling_runner(program, extension));
    if (!differs) return tl::unexpected(differs.error());
    if (differs->empty()) return {};
    return scenarios::refuse(scenarios::ErrorCode::unsupported,
                             "the program does not repeat, so chance decides how it ends: " + *differs,
                             "look for real time, os.urandom, or threads that the hook does not see");
}

std::string command_line(std::string_view verb, const ProgramOptions& options,
                         const std::vector<std::string>& faults) {
    std::string line = fmt::format("deadrank {}", verb);
    if (options.seed != 1) line += fmt::format(" --seed {}", options.seed);
    if (options.ranks > 0) line += fmt::format(" --ranks {}", options.ranks);
    if (options.nodes > 0) line += fmt::format(" --nodes {}", options.nodes);
    if (options.compute > 0) line += " --compute " +
                scenarios::value_text({.type = scenarios::ValueType::duration, .number = options.compute});
    if (options.real_limit != ProgramOptions().real_limit) line += fmt::format(" --real-limit {}", options.real_limit);
    if (options.gpus.count > 0) line += " " + options.gpus.words();
    for (const std::string& fault : faults) line += " " + shell_quoted(fault);
    line += " --";
    for (const std::string& word : options.command) line += " " + shell_quoted(word);
    return line;
}

scenarios::Result<void> check_effect(const std::vector<std::string>& lines, const ProgramOptions& options,
                                     const scenarios::Vocabulary& vocabulary) {
    for (const std::string& line : lines) {
        const auto fault = scenarios::read_fault_expression(line, vocabulary);
        if (!fault) continue;  // told where it is played
        const auto& levers = vocabulary.fault(fault->kind)->levers;
        const auto pulls = [&](const char* lever) {
            return std::find(levers.begin(), levers.end(), lever) != levers.end();
        };
        if (pulls("change_device.slow") && options.compute == 0 && options.gpus.count == 0)
            return scenarios::refuse(scenarios::ErrorCode::usage,
                                     fmt::format("'{}' would change nothing: computing takes no time here", line),
                                     "add --compute 20ms, or --gpus");
        if (pulls("change_device.memory") && options.gpus.count == 0)
            return scenarios::refuse(scenarios::ErrorCode::usage,
                                     fmt::format("'{}' would change nothing: tensors of the CPU take no device's memory",
                                                 line),
                                     "add --gpus");
    }
    return {};
}

void complain_of_line(Session& session, const scenarios::Error& error, const std::string& line) {
    scenarios::Error plain = error;
    plain.place = {};
    session.complain(plain);
    if (error.place.column > 0 && line.find('\n') == std::string::npos)
        print_error("  {}\n  {:>{}}\n", line, "^", error.place.column);
}

void add_to_page(results::reports::Page& page, std::size_t place, const explore::ProgramRun& run,
                 const std::string& title, const std::string& again) {
    results::Case one;
    one.scenario = title;
    one.runner = "sim";
    one.seed = run.fault.plan.seed.number;
    one.reason = fmt::format("{}{}{}", explore::text_of(run.outcome), run.says.empty() ? "" : ": ", run.says);
    one.verdict = explore::is_bad(run.outcome) ? results::Verdict::fail : results::Verdict::pass;
    one.fault = results::unjudged(one.reason, run.fault.record, run.fault.findings);
    one.fault->verdict = one.verdict;
    one.fault->job = run.grade;
    one.control = results::unjudged("", run.control->record, run.control->findings);
    one.control->verdict = results::Verdict::pass;
    one.trace_hash = run.fault.record.trace_hash;
    one.commands = {again};
    page.add(place, one, {title, "", ""},
             {{"fault", &run.fault.record.evidence, &run.fault.record.truth, &run.fault.findings, &*one.fault},
              {"control", &run.control->record.evidence, nullptr, &run.control->findings, &*one.control}});
}

}  // namespace deadrank::runners::commands
