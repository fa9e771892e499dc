// runners/commands/under_test.h — The programs that --subject or a command after `--` puts under test, how
// each reacted, and the page that shows it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "results/judging/resilience.h"
#include "results/reports/page.h"
#include "runners/backends/process/simulated_gpus.h"
#include "runners/backends/sim/managed_runner.h"
#include "runners/pipeline/play_trial.h"
#include "runners/pipeline/run_files.h"
#include "runners/pipeline/workers.h"

namespace deadrank::runners {
struct Extension;
}

namespace deadrank::runners::commands {

constexpr std::int64_t real_limit_usual = 120;  // seconds

struct SubjectOptions {
    std::vector<std::string> names;              // --subject
    std::vector<std::string> command;            // after `--`
    std::vector<std::string> debug;              // --debug: each program once with each level
    std::int64_t ranks = 0;                      // --ranks; 0 = as the scenario says
    SimulatedGpus gpus;                          // --gpus, --gpu
    std::int64_t real_limit = real_limit_usual;  // --real-limit
    std::int64_t compute = 0;                    // --compute, in nanoseconds
    bool trust = false;                          // --trust
};

// A command as the simulator plays it. `ranks`: of --ranks; 0: as the command says.
// Errors: usage, as read_launch_command; environment, without a Python that has torch.
scenarios::Result<ManagedSettings> managed_program(const std::vector<std::string>& words, std::int64_t ranks,
                                                   const SimulatedGpus& gpus = {});

// Steps that any rank has ended.
std::int64_t count_steps(const results::Evidence& evidence);

struct UnderTest {
    std::string words;  // the options that repeat it: "--ranks 2 --subject ddp"
    MakeRunner make;
    std::optional<LaunchCommand> launch = {};  // of a program that is played in the simulator
};

// Without any subject, only the runner. Errors: usage, for a runner that plays no programs; as make_runner
// and as subject_named.
scenarios::Result<std::vector<UnderTest>> programs_under_test(const std::string& runner,
                                                              const Extension& extension,
                                                              const SubjectOptions& options);

// The case with the program under test in its commands, and without its token, which cannot name a program.
results::Case of_program(results::Case one, const std::string& words);

// Without a name when no real program was under test.
results::ResilienceCell standing_of(const Trialled& trial, const std::string& words);

// Whether the command takes a program of the user's behind `--`. `command` has its verb: "replay
// determinism".
bool takes_program(std::string_view command);

// `A --runner local -- torchrun b c` as the parser needs it: each word after `--` in an option of its own.
// The words of a command that takes no program stay as they are.
std::vector<std::string> with_program(std::string_view command, std::vector<std::string> words);

}  // namespace deadrank::runners::commands

namespace deadrank::runners::commands {

// Adds a trial, just played or read back from files, to a page.
// `program`: the words that name the program under test on a command line; empty without one.
void add_to_page(results::reports::Page& page, std::size_t place, const scenarios::Scenario& scenario,
                 const Trialled& trial, const std::string& program);

void add_to_page(results::reports::Page& page, std::size_t place, const JudgedRun& judged);

}  // namespace deadrank::runners::commands
