// runners/commands/interrupt.cpp — A signal handler can reach nothing but static memory: the one flag lives
// here.
#include "runners/commands/interrupt.h"

#include <csignal>
#include <string_view>
#include <unistd.h>

namespace deadrank::runners::commands {

namespace {

std::atomic<bool> stop_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void on_signal(int) {
    constexpr std::string_view words =
        "\ndeadrank: stopping; what was seen so far is kept. Once more ends at once.\n";
    stop_requested.store(true);
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, words.data(), words.size());
}

}  // namespace

std::atomic<bool>& stop_on_interrupt() {
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    return stop_requested;
}

}  // namespace deadrank::runners::commands
