// sim/machine/launcher_texts.cpp — What torchrun, mpirun and torch's test harness print about processes that
// failed: the boxes and lines that people paste into issues.
#include <fmt/format.h>

#include "results/record/codes.h"
#include "sim/machine/launcher.h"

namespace deadrank::sim {

using results::signal_name;

namespace {

// Virtual time begins with the year 2026; a run of more than a month shows a day past its end.
std::string clock_text(Time when) {
    const std::int64_t seconds = when.count() / 1'000'000'000;
    return fmt::format("2026-01-{:02}_{:02}:{:02}:{:02}", seconds / 86400 + 1, seconds / 3600 % 24,
                       seconds / 60 % 60, seconds % 60);
}

std::string_view signal_words(int number) {
    switch (number) {
        case 6:
            return "Aborted";
        case 9:
            return "Killed";
        case 11:
            return "Segmentation fault";
        case 15:
            return "Terminated";
        default:
            return "Unknown signal";
    }
}

}  // namespace

std::string torchrun_failed_line(const Process& process) {
    return fmt::format("failed (exitcode: {}) local_rank: {} (pid: {}) of binary: /usr/bin/python3",
                       process.exit_code, process.local, process.pid);
}

std::string torchrun_report(const std::string& script, const std::vector<SeenFailure>& failures,
                            const std::string& host) {
    const std::string thick(60, '='), thin(60, '-');
    const auto entry = [&](std::size_t number) {
        const Process& process = *failures[number].process;
        const int signal = process.exit_signal;
        return fmt::format(
            "[{}]:\n  time      : {}\n  host      : {}\n  rank      : {} (local_rank: {})\n"
            "  exitcode  : {} (pid: {})\n  error_file: <N/A>\n  traceback : {}\n",
            number, clock_text(failures[number].at), host, process.id, process.local, process.exit_code,
            process.pid,
            signal != 0
                ? fmt::format("Signal {} ({}) received by PID {}", signal, signal_name(signal), process.pid)
                : "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html");
    };
    std::string others;
    for (std::size_t i = 1; i < failures.size(); ++i) others += entry(i);
    return fmt::format("{}\n{} FAILED\n{}\nFailures:\n{}{}\nRoot Cause (first observed failure):\n{}{}",
                       thick, script, thin, others.empty() ? "  <NO_OTHER_FAILURES>\n" : others, thin,
                       entry(0), thick);
}

std::string mpirun_report(const Process& process, const std::string& host) {
    if (process.exit_signal != 0) {
        return fmt::format(
            "mpirun noticed that process rank {} with PID {} on node {} exited on signal {} ({}).",
            process.id, process.pid, host, process.exit_signal, signal_words(process.exit_signal));
    }
    return fmt::format(
        "mpirun detected that one or more processes exited with non-zero status, thus causing\nthe job to be "
        "terminated. The first process to do so was:\n\n  Process name: [[20101,1],{}]\n  Exit code:    {}",
        process.id, process.exit_code);
}

int mpirun_code(const Process& process) {
    return process.exit_signal != 0 ? 128 + process.exit_signal : process.exit_code;
}

// A worker leaves its exception in a file; without one it ended by exit() or a signal.
std::string spawn_report(const Process& process, std::string_view raised) {
    if (process.exit_signal != 0)
        return fmt::format(
            "torch.multiprocessing.spawn.ProcessExitedException: process {} terminated with signal {}",
            process.id, signal_name(process.exit_signal));
    if (raised.empty() || raised.starts_with("SystemExit"))
        return fmt::format(
            "torch.multiprocessing.spawn.ProcessExitedException: process {} terminated with exit code {}",
            process.id, process.exit_code);
    return fmt::format(
        "torch.multiprocessing.spawn.ProcessRaisedException: \n\n-- Process {} terminated with "
        "the following error:\nTraceback (most recent call last):\n{}",
        process.id, raised);
}

std::string test_name(const std::string& script, Rank ranks) {
    return fmt::format("test_{}::test_on_{}_ranks", script, ranks);
}

std::string test_process_failed(const Process& process) {
    if (process.exit_signal != 0)
        return fmt::format("RuntimeError: Process {} exited by {}", process.id,
                           signal_name(process.exit_signal));
    return fmt::format("RuntimeError: Process {} exited with error code {}", process.id, process.exit_code);
}

std::string test_timed_out(const Process& process, Time after) {
    return fmt::format("RuntimeError: Process {} terminated or timed out after {} seconds", process.id,
                       after.count() / 1'000'000'000);
}

}  // namespace deadrank::sim
