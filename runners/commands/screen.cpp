// runners/commands/screen.cpp — COLUMNS overrides what the terminal says of itself.
#include "runners/commands/screen.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>

namespace deadrank::runners::commands {

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

Progress::Progress() : terminal_(isatty(fileno(stderr)) != 0), style_(style_of(stderr)) {}
Progress::~Progress() { clear(); }

void Progress::show(std::string_view line) {
    if (!terminal_) return;
    fmt::print(stderr, "\r\033[K{}",
               style_.paint(results::reports::Ink::dim, style_.cut(line, style_.width - 1)));
    std::fflush(stderr);
    shown_ = true;
}

void Progress::clear() {
    if (!shown_) return;
    fmt::print(stderr, "\r\033[K");
    std::fflush(stderr);
    shown_ = false;
}

}  // namespace deadrank::runners::commands
