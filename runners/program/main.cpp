// runners/program/main.cpp — The program's entry point. The commands are in runners/commands.
#include <csignal>
#include <cstdlib>
#include <exception>
#include <sys/resource.h>
#include <unistd.h>

#include "results/reports/output.h"
#include "runners/commands/command.h"
#include "runners/program/program.h"
#include "scenarios/model/error.h"

namespace {

using deadrank::results::reports::print_error;
using deadrank::scenarios::host_error;
using deadrank::scenarios::is_host_failure;

// An exception that no caller can take: from a destructor, or a function that may not throw. Without memory
// nothing but a fixed text can be printed.
[[noreturn]] void end_at_once() {
    try {
        if (const auto thrown = std::current_exception()) std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
        if (is_host_failure(error)) {
            constexpr char words[] =
                "deadrank: this machine ran out of memory, threads or files; nothing was judged. `deadrank "
                "undo` "
                "removes what is left\n";
            [[maybe_unused]] const auto written = ::write(STDERR_FILENO, words, sizeof words - 1);
            ::_exit(deadrank::runners::commands::exit_unknown);
        }
    } catch (...) {
    }
    std::abort();
}

constexpr rlim_t stack_least = 256 << 10;  // blocks of 64 KiB lie on it, that of threads too

bool has_stack() {
    rlimit limit{};
    return ::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= stack_least;
}

}  // namespace

int main(int argc, char** argv) {
    if (!has_stack()) {
        constexpr char words[] =
            "deadrank: a stack of 256 KiB is needed, and `ulimit -s` allows less: raise it\n";
        [[maybe_unused]] const auto written = ::write(STDERR_FILENO, words, sizeof words - 1);
        return deadrank::runners::commands::exit_unknown;
    }
    std::set_terminate(end_at_once);
    std::signal(SIGXFSZ, SIG_IGN);  // a write beyond `ulimit -f` fails and is told, as on a full disk
    try {
        return deadrank::runners::run_program(argc, argv);
    } catch (const std::exception& error) {
        if (is_host_failure(error))
            print_error("deadrank: {}\n", host_error(error).text());
        else
            print_error("deadrank: internal error: {} — please report it with the command\n", error.what());
        return deadrank::runners::commands::exit_unknown;
    }
}
