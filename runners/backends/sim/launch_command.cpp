// runners/backends/sim/launch_command.cpp — Each launcher is a table of its options: those that take a value,
// those that take none, and what a few of them mean.
#include "runners/backends/sim/launch_command.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <set>
#include <string_view>

namespace deadrank::runners {

namespace {

using scenarios::ErrorCode;
using scenarios::LauncherKind;
using scenarios::refuse;
using scenarios::Result;
using Words = std::vector<std::string>;

constexpr const char* in_real_time = "`deadrank watch` runs it in real time";

// An option's value, or why it cannot be played.
using Take = std::function<Result<void>(LaunchCommand&, const std::string&)>;

struct Options {
    std::map<std::string, Take, std::less<>> meaning;  // with a value
    std::set<std::string, std::less<>> ignored;        // with a value that has no effect on a simulated job
    std::set<std::string, std::less<>> flags;          // without a value
    bool single_dash = false;                          // mpirun's -np
};

Result<std::int64_t> number_of(const std::string& option, const std::string& text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 1 || number > 1'000'000)
        return refuse(ErrorCode::usage, fmt::format("{} is '{}'", option, text), "state a number from 1 on");
    return number;
}

Take count(std::string option, std::int64_t LaunchCommand::*member) {
    return [option = std::move(option), member](LaunchCommand& command,
                                                const std::string& text) -> Result<void> {
        const auto number = number_of(option, text);
        if (!number) return tl::unexpected(number.error());
        command.*member = *number;
        return {};
    };
}

Take nodes(std::string option) {
    return [option = std::move(option)](LaunchCommand& command, const std::string& text) -> Result<void> {
        const std::size_t colon = text.find(':');
        if (colon != std::string::npos && text.substr(0, colon) != text.substr(colon + 1))
            return refuse(ErrorCode::usage, fmt::format("{} is '{}', a range of nodes", option, text),
                          "state one number: ranks of a real program do not come and go in the simulator");
        return count(option, &LaunchCommand::nodes)(command, text.substr(0, colon));
    };
}

Take restarts() {
    return [](LaunchCommand& command, const std::string& text) -> Result<void> {
        if (text == "0") return {};
        return count("--max-restarts", &LaunchCommand::restarts_max)(command, text);
    };
}

Take monitor_interval() {
    return [](LaunchCommand& command, const std::string& text) -> Result<void> {
        double seconds = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
        if (error != std::errc() || end != text.data() + text.size() || !(seconds > 0) || seconds > 1e6)
            return refuse(ErrorCode::usage, fmt::format("--monitor-interval is '{}'", text), "state seconds");
        command.monitor_interval = std::llround(seconds * 1e9);
        return {};
    };
}

// mpirun -x NAME=VALUE; without a value it is this process's, which ranks have anyway.
Take exported() {
    return [](LaunchCommand& command, const std::string& text) -> Result<void> {
        const std::size_t equals = text.find('=');
        if (equals != std::string::npos)
            command.environment[text.substr(0, equals)] = text.substr(equals + 1);
        return {};
    };
}

std::string with_dashes(std::string option) {
    std::replace(option.begin(), option.end(), '_', '-');
    return option;
}

// Takes the launcher's options off `words`, from `at` on; what is left begins with the program. A module flag
// ends them as well.
Result<std::size_t> take_options(LaunchCommand& command, const Words& words, std::size_t at,
                                 const Options& known, bool& module, bool& no_python) {
    for (; at < words.size(); ++at) {
        const std::string& word = words[at];
        if (word == "--") return at + 1;
        if (word.size() < 2 || word[0] != '-') return at;
        const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
        const std::string spelled = word.substr(0, equals);
        std::string option = spelled.starts_with("--") ? "--" + with_dashes(spelled.substr(2)) : spelled;
        const auto takes_value = [&known](const std::string& name) {
            return known.meaning.contains(name) || known.ignored.contains(name);
        };
        // srun's -N2.
        const bool has_value_behind = !spelled.starts_with("--") && spelled.size() > 2 &&
                                      !known.flags.contains(option) && !takes_value(option) &&
                                      takes_value(option.substr(0, 2));
        if (has_value_behind) option.resize(2);
        if (option == "-m" || option == "--module") {
            module = true;
            continue;
        }
        if (option == "--no-python") {
            no_python = true;
            continue;
        }
        if (known.flags.contains(option)) continue;
        const auto meaning = known.meaning.find(option);
        if (meaning == known.meaning.end() && !known.ignored.contains(option))
            return refuse(ErrorCode::usage, fmt::format("the simulated launcher does not know '{}'", spelled),
                          fmt::format("leave it out, or {}", in_real_time));
        if (equals == std::string::npos && !has_value_behind && at + 1 >= words.size())
            return refuse(ErrorCode::usage, fmt::format("'{}' lacks its value", spelled), "state it");
        const std::string value = has_value_behind              ? word.substr(2)
                                  : equals == std::string::npos ? words[++at]
                                                                : word.substr(equals + 1);
        if (meaning == known.meaning.end()) continue;
        if (const auto taken = meaning->second(command, value); !taken) return tl::unexpected(taken.error());
    }
    return at;
}

constexpr std::int64_t one_for_each_gpu = 0;

// torchrun --nproc-per-node.
Take processes() {
    return [](LaunchCommand& command, const std::string& text) -> Result<void> {
        if (text != "gpu" && text != "auto")
            return count("--nproc-per-node", &LaunchCommand::ranks_per_node)(command, text);
        command.ranks_per_node = one_for_each_gpu;
        return {};
    };
}

Options options_of_torchrun() {
    return {
        .meaning = {{"--nnodes", nodes("--nnodes")},
                    {"--nproc-per-node", processes()},
                    {"--max-restarts", restarts()},
                    {"--monitor-interval", monitor_interval()}},
        .ignored = {"--rdzv-backend",
                    "--rdzv-endpoint",
                    "--rdzv-id",
                    "--rdzv-conf",
                    "--node-rank",
                    "--master-addr",
                    "--master-port",
                    "--local-addr",
                    "--role",
                    "--log-dir",
                    "--redirects",
                    "-r",
                    "--tee",
                    "-t",
                    "--start-method",
                    "--local-ranks-filter",
                    "--logs-specs",
                    "--duplicate-stdout-filters",
                    "--duplicate-stderr-filters",
                    "--event-log-handler",
                    "--numa-binding"},
        .flags = {"--standalone", "--run-path", "--use-env", "--signals-to-handle", "--virtual-local-rank"}};
}

Options options_of_deepspeed() {
    return {.meaning = {{"--num-gpus", count("--num_gpus", &LaunchCommand::ranks_per_node)},
                        {"--num-nodes", count("--num_nodes", &LaunchCommand::nodes)}},
            .ignored = {"--master-port", "--master-addr", "--hostfile", "-H", "--include", "-i", "--exclude",
                        "-e", "--launcher", "--launcher-args"},
            .flags = {"--no-ssh", "--force-multi", "--save-pid", "--enable-each-rank-log"}};
}

Options options_of_mpirun() {
    return {.meaning = {{"-n", count("-n", &LaunchCommand::ranks_per_node)},
                        {"-np", count("-np", &LaunchCommand::ranks_per_node)},
                        {"--np", count("--np", &LaunchCommand::ranks_per_node)},
                        {"-x", exported()}},
            .ignored = {"--hostfile", "-hostfile", "--host", "-host", "-H", "--bind-to", "-bind-to",
                        "--map-by", "-map-by", "--rank-by", "--output", "--timeout"},
            .flags = {"--oversubscribe", "--allow-run-as-root", "--tag-output", "--report-bindings"},
            .single_dash = true};
}

Options options_of_srun() {
    return {.meaning = {{"-N", nodes("-N")},
                        {"--nodes", nodes("--nodes")},
                        {"-n", count("-n", &LaunchCommand::ranks_per_node)},
                        {"--ntasks", count("--ntasks", &LaunchCommand::ranks_per_node)},
                        {"--ntasks-per-node", count("--ntasks-per-node", &LaunchCommand::ranks_per_node)}},
            .ignored = {"--gpus-per-node",
                        "--gres",
                        "--gpus",
                        "-G",
                        "--gpus-per-task",
                        "--cpus-per-task",
                        "-c",
                        "--partition",
                        "-p",
                        "--time",
                        "-t",
                        "--job-name",
                        "-J",
                        "--mpi",
                        "--cpu-bind",
                        "--mem",
                        "--account",
                        "-A",
                        "--container-image",
                        "--container-mounts",
                        "--output",
                        "-o"},
            .flags = {"--exclusive", "-l", "--label", "--unbuffered", "-u"}};
}

// What a rank runs: words behind the interpreter.
Result<void> take_program(LaunchCommand& command, const Words& words, std::size_t at, bool module) {
    if (at >= words.size())
        return refuse(ErrorCode::usage, "the command names no program",
                      "put it behind the launcher's options");
    command.argv.assign(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
    if (module) command.argv.insert(command.argv.begin(), "-m");
    return {};
}

// Behind the options of a launcher that reads its words by argparse, whose REMAINDER leaves out the first "--" behind the
// script, unless one ended the options. Tried with Python 3.11.
Result<void> take_remainder(LaunchCommand& command, const Words& words, std::size_t at, bool module) {
    if (const auto taken = take_program(command, words, at, module); !taken) return taken;
    const auto first = command.argv.begin() + (module ? 2 : 1);
    if (words[at - 1] != "--" && first != command.argv.end() && *first == "--") command.argv.erase(first);
    return {};
}

bool is_python(const std::string& word) {
    const std::string name = std::filesystem::path(word).filename().string();
    return name == "python" || name == "python3" || name.starts_with("python3.");
}

// The words behind a Python that the command names: its own options are those that change nothing here.
Result<void> take_python(LaunchCommand& command, const Words& words, std::size_t at) {
    if (at >= words.size() || !is_python(words[at]))
        return refuse(
            ErrorCode::usage,
            fmt::format("'{}' is no Python, and only Python programs can be played in the simulator",
                        at < words.size() ? words[at] : std::string("(nothing)")),
            in_real_time);
    ++at;
    while (at < words.size() && (words[at] == "-u" || words[at] == "-B" || words[at] == "-O")) ++at;
    return take_program(command, words, at, false);
}

Result<LaunchCommand> read_torchrun(const Words& words, std::size_t at) {
    LaunchCommand command{.launcher = LauncherKind::torchrun};
    bool module = false, no_python = false;
    const auto program = take_options(command, words, at, options_of_torchrun(), module, no_python);
    if (!program) return tl::unexpected(program.error());
    const auto taken =
        no_python ? take_python(command, words, *program) : take_remainder(command, words, *program, module);
    if (!taken) return tl::unexpected(taken.error());
    return command;
}

Result<LaunchCommand> read_deepspeed(const Words& words) {
    LaunchCommand command{.launcher = LauncherKind::torchrun, .ranks_per_node = one_for_each_gpu};
    bool module = false, no_python = false;
    const auto program = take_options(command, words, 1, options_of_deepspeed(), module, no_python);
    if (!program) return tl::unexpected(program.error());
    if (const auto taken = take_remainder(command, words, *program, module); !taken)
        return tl::unexpected(taken.error());
    command.local_rank_argument = "--local_rank";
    return command;
}

Result<LaunchCommand> read_mpirun(const Words& words) {
    LaunchCommand command{.launcher = LauncherKind::mpirun};
    bool module = false, no_python = false;
    const auto program = take_options(command, words, 1, options_of_mpirun(), module, no_python);
    if (!program) return tl::unexpected(program.error());
    if (const auto taken = take_python(command, words, *program); !taken)
        return tl::unexpected(taken.error());
    return command;
}

Result<LaunchCommand> read_srun(const Words& words) {
    LaunchCommand command{.launcher = LauncherKind::bare};
    bool module = false, no_python = false;
    const auto program = take_options(command, words, 1, options_of_srun(), module, no_python);
    if (!program) return tl::unexpected(program.error());
    command.environment["SLURM_JOB_ID"] = "1";  // with it the simulated launcher sets the others
    command.environment["SLURM_JOBID"] = "1";   // its older name
    const auto end_of_options = words.begin() + static_cast<std::ptrdiff_t>(*program);
    const bool of_all = std::any_of(words.begin(), end_of_options, [](const std::string& word) {
        return word.starts_with("-n") || word.starts_with("--ntasks=") || word == "--ntasks";
    });
    if (of_all && command.ranks_per_node % command.nodes != 0)
        return refuse(
            ErrorCode::usage,
            fmt::format("{} tasks do not divide into {} nodes", command.ranks_per_node, command.nodes),
            "state a multiple with -n");
    if (of_all) command.ranks_per_node /= command.nodes;
    if (const auto taken = take_python(command, words, *program); !taken)
        return tl::unexpected(taken.error());
    return command;
}

// Such a program starts its ranks itself; the one that called spawn ends them when one of them fails.
bool spawns_ranks(const std::string& script) {
    std::ifstream file(script);
    for (std::string line; std::getline(file, line);)
        if (line.find("mp.spawn(") != std::string::npos ||
            line.find("multiprocessing.spawn(") != std::string::npos ||
            line.find("start_processes(") != std::string::npos)
            return true;
    return false;
}

Result<LaunchCommand> read_python(const Words& words) {
    const bool runs_launcher =
        words.size() > 2 && words[1] == "-m" &&
        (words[2] == "torch.distributed.run" || words[2] == "torch.distributed.launch");
    if (runs_launcher) {
        auto launched = read_torchrun(words, 3);
        if (!launched || words[2] == "torch.distributed.run") return launched;
        const auto end_of_options = words.end() - static_cast<std::ptrdiff_t>(launched->argv.size());
        const bool by_environment = std::any_of(words.begin(), end_of_options, [](const std::string& word) {
            return with_dashes(word) == "--use-env";
        });
        if (!by_environment) launched->local_rank_argument = "--local-rank";
        return launched;
    }
    LaunchCommand command{.launcher = LauncherKind::bare};
    if (const auto taken = take_python(command, words, 0); !taken) return tl::unexpected(taken.error());
    if (spawns_ranks(command.argv.front())) command.launcher = LauncherKind::spawn;
    return command;
}

Result<LaunchCommand> read_by_name(const Words& words) {
    const std::string name = words.empty() ? "" : std::filesystem::path(words[0]).filename().string();
    if (name == "torchrun") return read_torchrun(words, 1);
    if (name == "deepspeed") return read_deepspeed(words);
    if (name == "mpirun" || name == "mpiexec") return read_mpirun(words);
    if (name == "srun") return read_srun(words);
    if (is_python(name)) return read_python(words);
    return refuse(ErrorCode::usage, fmt::format("the simulator does not know the launcher '{}'", name),
                  fmt::format("use torchrun, accelerate launch, deepspeed, mpirun, srun or python; or {}",
                              in_real_time));
}

}  // namespace

Result<LaunchCommand> read_launch_command(const Words& words, std::int64_t ranks, std::int64_t gpus) {
    auto command = read_by_name(words);
    if (!command) return command;
    if (ranks <= 0 && command->launcher == LauncherKind::spawn) ranks = gpus;
    if (command->ranks_per_node == one_for_each_gpu) {
        if (gpus <= 0 && ranks <= 0)
            return refuse(ErrorCode::usage, "the command starts a process for each GPU of a node",
                          "say how many with --gpus, or name the number of processes");
        command->ranks_per_node = gpus > 0 ? gpus : ranks / command->nodes;
    }
    if (ranks <= 0 || ranks == command->ranks()) return command;
    // --ranks plays the same job at another size.
    command->nodes = ranks % command->nodes == 0 ? command->nodes : 1;
    command->ranks_per_node = ranks / command->nodes;
    return command;
}

}  // namespace deadrank::runners
