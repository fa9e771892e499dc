// runners/commands/under_test.cpp — The programs that --subject or a command after `--` puts under test, how
// each reacted, and the page that shows it.
#include "runners/commands/under_test.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <numeric>

#include "runners/backends/catalog/backend.h"
#include "runners/backends/local/local_job.h"
#include "runners/backends/local/local_runner.h"
#include "runners/backends/local/shared_controls.h"
#include "runners/backends/sim/accelerate_launch.h"
#include "runners/backends/sim/python_play.h"
#include "runners/commands/trust.h"

namespace deadrank::runners::commands {

// ── A runner for each program; a grade from evidence, control and truth.

using scenarios::ErrorCode;
using scenarios::refuse;

namespace {

std::string joined_pair(const std::string& first, const std::string& second) {
    return first.empty() || second.empty() ? first + second : first + " " + second;
}

std::string upper(std::string word) {
    std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::toupper(c); });
    return word;
}

std::string all_devices(int count) {
    std::vector<int> devices(static_cast<std::size_t>(count));
    std::iota(devices.begin(), devices.end(), 0);
    return fmt::format("{}", fmt::join(devices, ","));
}

UnderTest program(std::string words, Manifest manifest) {
    return {std::move(words), [manifest = std::move(manifest), cache = std::make_shared<ControlCache>()] {
                return std::make_unique<SharedControls>(std::make_unique<LocalRunner>(manifest), cache);
            }};
}

}  // namespace

scenarios::Result<ManagedSettings> managed_program(const std::vector<std::string>& words, std::int64_t ranks,
                                                   const SimulatedGpus& gpus) {
    if (words.empty() || std::filesystem::path(words[0]).filename() != "accelerate") {
        const auto readable = read_launch_command(words, ranks, gpus.count);  // before a Python is looked for
        if (!readable) return tl::unexpected(readable.error());
    }
    auto settings = python_settings(gpus);
    if (!settings) return settings;
    auto started = words_behind_accelerate(words, *settings, gpus.count);
    if (!started) return tl::unexpected(started.error());
    auto command = read_launch_command(started->words, ranks, gpus.count);
    if (!command) return tl::unexpected(command.error());
    command->environment.merge(started->environment);
    settings->command = std::move(*command);
    return settings;
}

std::int64_t count_steps(const results::Evidence& evidence) {
    std::int64_t steps = 0;
    for (const results::Event* event : evidence.each<results::StepEnd>())
        steps = std::max(steps, event->as<results::StepEnd>()->step + 1);
    return steps;
}

scenarios::Result<std::vector<UnderTest>> programs_under_test(const std::string& runner,
                                                              const Extension& extension,
                                                              const SubjectOptions& options) {
    if (auto known = make_runner(runner, extension); !known) return tl::unexpected(known.error());
    const std::string size = joined_pair(options.trust ? "--trust" : "",
                                         options.ranks > 0 ? fmt::format("--ranks {}", options.ranks) : "");
    std::vector<UnderTest> programs;
    std::map<std::string, std::string> gpu_variables;
    if (options.gpus.count > 0) {
        const bool has_program =
            !options.command.empty() || (runner == scenarios::BackendId::local && !options.names.empty());
        if ((runner != scenarios::BackendId::local && runner != scenarios::BackendId::sim) || !has_program)
            return refuse(ErrorCode::usage, "--gpus is for a program of yours", "add its command behind --");
        auto variables = variables_of(options.gpus);
        if (!variables) return tl::unexpected(variables.error());
        gpu_variables = std::move(*variables);
    }
    if (options.names.empty() && options.command.empty()) {
        if (!options.debug.empty())
            return refuse(ErrorCode::usage,
                          "--debug is a setting of the program under test, and there is none",
                          "add --runner local --subject NAME");
        programs.push_back(
            {size, [runner, &extension] { return std::move(*make_runner(runner, extension)); }});
        return programs;
    }
    if (runner == scenarios::BackendId::mpi && !options.command.empty() && options.names.empty() &&
        options.debug.empty()) {
        programs.push_back({joined_pair(size, fmt::format("-- {}", fmt::join(options.command, " "))),
                            [command = options.command] { return std::make_unique<MpiProgram>(command); }});
        return programs;
    }
    if (runner == scenarios::BackendId::sim && !options.command.empty() && options.names.empty() &&
        options.debug.empty()) {
        auto managed = managed_program(options.command, options.ranks, options.gpus);
        if (!managed) return tl::unexpected(managed.error());
        managed->real_limit = std::chrono::seconds(options.real_limit);
        managed->compute = options.compute;
        const std::string words = joined_pair(joined_pair(options.gpus.words(), size),
                                              fmt::format("-- {}", fmt::join(options.command, " ")));
        const auto make = [settings = *managed, faults = extension.all_faults()] {
            return std::make_unique<ManagedRunner>(settings, faults);
        };
        programs.push_back({words, make, managed->command});
        return programs;
    }
    if (runner != scenarios::BackendId::local) {
        return refuse(ErrorCode::usage, fmt::format("the runner '{}' plays no program of yours", runner),
                      "add --runner local, or --runner mpi for an MPI program behind --");
    }
    const auto add = [&](const std::string& plain_words, Manifest manifest) {
        const std::string words = joined_pair(options.gpus.words(), plain_words);
        for (const auto& [name, value] : gpu_variables) manifest.environment[name] = value;
        // Our own programs are kept off GPUs unless they are told of one.
        if (options.gpus.count > 0)
            manifest.environment["CUDA_VISIBLE_DEVICES"] = all_devices(options.gpus.count);
        for (const std::string& level : options.debug) {
            Manifest louder = manifest;
            louder.environment["TORCH_DISTRIBUTED_DEBUG"] = upper(level);
            programs.push_back(
                program(joined_pair(joined_pair(size, "--debug " + level), words), std::move(louder)));
        }
        if (options.debug.empty()) programs.push_back(program(joined_pair(size, words), manifest));
    };
    for (const std::string& name : options.names) {
        auto manifest = subject_named(name);
        if (!manifest) return tl::unexpected(manifest.error());
        if (name.ends_with(".toml") && !options.trust) {
            if (auto trusted = refuse_code(name, list_code_settings(*manifest)); !trusted)
                return tl::unexpected(trusted.error());
        }
        add("--subject " + name, *manifest);
    }
    if (!options.command.empty())
        add(fmt::format("-- {}", fmt::join(options.command, " ")), typed_subject(options.command));
    return programs;
}

results::Case of_program(results::Case one, const std::string& words) {
    if (words.empty()) return one;
    one.runner += " " + words;
    one.token.clear();
    return one;
}

results::ResilienceCell standing_of(const Trialled& trial, const std::string& words) {
    results::ResilienceCell standing;
    const results::Case& one = trial.outcome;
    standing.scenario = one.scenario;
    standing.cause = one.bug.cause;
    standing.again = joined_pair(fmt::format("deadrank run {} --seed {} --runner local",
                                             one.file.empty() ? one.scenario : one.file.string(), one.seed),
                                 words);
    const auto& seen = trial.fault ? trial.fault : trial.control;
    standing.untold = one.fault ? one.fault->reason : one.reason;
    if (!seen) return standing;
    standing.subject = results::subject_of(seen->record.evidence);
    if (standing.subject.name.empty() || !trial.fault) return standing;
    const results::Truth& truth = trial.fault->record.truth;
    if (truth.interrupted || !truth.took_place()) return standing;  // the verdict says so
    const results::Grade& grade = one.fault->job;
    standing.untold = grade.untold;
    if (standing.untold.empty()) standing.grade = grade;
    return standing;
}

using namespace std::string_view_literals;

bool takes_program(std::string_view command) {
    static constexpr std::array setting_handlers = {"run"sv,   "watch"sv, "inject"sv,
                                                    "sweep"sv, "test"sv,  "replay determinism"sv};
    return std::find(setting_handlers.begin(), setting_handlers.end(), command) != setting_handlers.end();
}

std::vector<std::string> with_program(std::string_view command, std::vector<std::string> words) {
    if (!takes_program(command)) return words;
    const auto dashes = std::find(words.begin(), words.end(), "--");
    if (dashes == words.end()) return words;
    std::vector<std::string> named(words.begin(), dashes);
    for (auto word = dashes + 1; word != words.end(); ++word) {
        if (word->empty())  // "--command=" would take the next word
            named.insert(named.end(), {"--command", ""});
        else
            named.push_back("--command=" + *word);
    }
    return named;
}

// ── The page gets views of the runs, which only need to live until it has read them.

namespace {

using results::reports::SeenRun;

void see(std::vector<SeenRun>& runs, std::string_view variant, const std::optional<Played>& played,
         const std::optional<results::Judgement>& judgement) {
    if (!played) return;
    runs.push_back({variant, &played->record.evidence, &played->record.truth, &played->findings,
                    judgement ? &*judgement : nullptr});
}

void see(std::vector<SeenRun>& runs, std::string_view variant, const std::optional<RunFiles>& run,
         const std::optional<results::Judgement>& judgement) {
    if (!run) return;
    runs.push_back({variant, &run->record.evidence, run->has_truth ? &run->record.truth : nullptr,
                    &run->findings, judgement ? &*judgement : nullptr});
}

}  // namespace

void add_to_page(results::reports::Page& page, std::size_t place, const scenarios::Scenario& scenario,
                 const Trialled& trial, const std::string& program) {
    std::vector<SeenRun> runs;
    see(runs, "fault", trial.fault, trial.outcome.fault);
    see(runs, "control", trial.control, trial.outcome.control);
    see(runs, "healed", trial.healed, trial.outcome.healed);
    page.add(place, of_program(trial.outcome, program),
             {scenario.teach.title, scenario.story, scenario.heal.says}, runs);
}

void add_to_page(results::reports::Page& page, std::size_t place, const JudgedRun& judged) {
    std::vector<SeenRun> runs;
    see(runs, "fault", judged.fault, judged.outcome.fault);
    see(runs, "control", judged.control, judged.outcome.control);
    see(runs, "healed", judged.healed, judged.outcome.healed);
    page.add(place, judged.outcome, {}, runs);
}

}  // namespace deadrank::runners::commands
