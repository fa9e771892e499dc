// runners/commands/screen.cpp — The terminal as commands see it: colours, a line that is overwritten in
// place, and Ctrl-C.
#include "runners/commands/screen.h"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

// ── COLUMNS overrides the width that the terminal reports.

namespace {

std::size_t width_of(int descriptor) {
    if (const char* stated = std::getenv("COLUMNS")) {
        const long columns = std::strtol(stated, nullptr, 10);
        if (columns > 0) return static_cast<std::size_t>(std::max(columns, 40L));
    }
    winsize size{};
    if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 100;
    return std::max<std::size_t>(size.ws_col, 40);
}

}  // namespace

results::reports::Style style_of(std::FILE* stream) {
    const int descriptor = fileno(stream);
    if (!isatty(descriptor)) return {};
    const char* plain = std::getenv("NO_COLOR");
    const char* terminal = std::getenv("TERM");
    const bool dumb = terminal && std::string_view(terminal) == "dumb";
    return {.color = !(plain && *plain) && !dumb, .width = width_of(descriptor)};
}

constexpr std::string_view clear_line = "\r\033[K";

Progress::Progress() : terminal_(isatty(fileno(stderr)) != 0), style_(style_of(stderr)) {}
Progress::~Progress() { clear(); }

void Progress::show(std::string_view line) {
    // For a program that started this one and shows the line to a person: the newest line, alone in a file.
    if (const char* file = std::getenv("DEADRANK_PROGRESS"); file && *file)
        std::ofstream(file) << results::reports::visible_line(line) << '\n';
    if (!terminal_) return;
    results::reports::write_unchanged(stderr, clear_line);
    print_error("{}", style_.paint(results::reports::Ink::dim,
                                   style_.cut(results::reports::visible_line(line), style_.width - 1)));
    std::fflush(stderr);
    shown_ = true;
}

void Progress::clear() {
    if (!shown_) return;
    results::reports::write_unchanged(stderr, clear_line);
    std::fflush(stderr);
    shown_ = false;
}

// ── Static, because the signal handler needs it.

namespace {

std::atomic<bool> stop_requested = false;
std::atomic<int> stopped_by = 0;  // the first signal
std::atomic<std::int64_t> first_at = 0;
std::atomic<int> nothing_to_read = -1;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free);

std::int64_t milliseconds() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1'000 + now.tv_nsec / 1'000'000;
}

// A supervisor may signal both the process and its group: within 300 ms that is still one request.
void on_signal(int signal) {
    constexpr std::int64_t one_request = 300;
    constexpr std::string_view by_hand =
        "\ndeadrank: stopping; what was written so far stays. Press Ctrl-C again to quit at once.\n";
    constexpr std::string_view by_sigterm =
        "deadrank: SIGTERM came: stopping; what was written so far stays. A second one quits at once.\n";
    constexpr std::string_view by_sighup =
        "deadrank: SIGHUP came, since the terminal is gone: stopping; what was written so far stays.\n";
    const std::string_view words = signal == SIGTERM ? by_sigterm : signal == SIGHUP ? by_sighup : by_hand;
    if (signal == SIGPIPE) {  // nobody reads what is printed: stop, and say nothing
        stop_requested = true;
    } else if (!stop_requested.exchange(true)) {
        stopped_by.store(signal);
        if (const int nothing = nothing_to_read.load(); nothing >= 0) ::dup2(nothing, STDIN_FILENO);
        first_at.store(milliseconds());
        [[maybe_unused]] const auto written = ::write(STDERR_FILENO, words.data(), words.size());
    } else if (signal != SIGHUP && milliseconds() - first_at.load() > one_request) {
        std::signal(signal, SIG_DFL);
        ::raise(signal);
    }
}

std::atomic<bool>& answer_signals(int flags) {
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = flags;
    // Under nohup the end of the session is to have no effect, and is ignored already.
    struct sigaction before {};
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
        if (signal == SIGHUP && sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN)
            continue;
        sigaction(signal, &action, nullptr);
    }
    return stop_requested;
}

}  // namespace

int code_of_stop() {
    const int signal = stopped_by.load();
    return signal == 0 ? static_cast<int>(exit_interrupted) : 128 + signal;
}

std::atomic<bool>& stop_on_interrupt() { return answer_signals(SA_RESTART); }

// A signal that arrives just before a read would not interrupt it, so the handler also replaces stdin with
// /dev/null.
std::atomic<bool>& stop_while_reading() {
    nothing_to_read.store(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    return answer_signals(0);
}

}  // namespace deadrank::runners::commands
