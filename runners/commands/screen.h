// runners/commands/screen.h — The terminal as commands see it: colours, a line that is overwritten in place,
// and Ctrl-C.
#pragma once

#include <atomic>
#include <cstdio>
#include <string_view>

#include "results/reports/output.h"
#include "results/reports/style.h"

namespace deadrank::runners::commands {

// A command prints with these alone.
using results::reports::flush_out;
using results::reports::print_error;
using results::reports::print_out;

// ── What a stream leads to: a terminal with a width and colours, or a pipe.

// Colour on a terminal unless NO_COLOR is set; a pipe has neither colour nor a width.
results::reports::Style style_of(std::FILE* stream);

// A line that is overwritten in place, on standard error and only on a terminal.
class Progress {
public:
    Progress();
    ~Progress();
    void show(std::string_view line);
    void clear();  // before anything else is printed

private:
    bool terminal_;
    bool shown_ = false;
    results::reports::Style style_;
};

// Ctrl-C once: stop soon and keep the evidence. Twice: end at once.
// Listens until the program ends. The flag becomes true with the first SIGINT, SIGTERM, SIGHUP (the terminal
// or the ssh session is gone) or SIGPIPE (the reader of our output is gone). A second SIGINT or SIGTERM has
// its usual effect; one of the others ends no run on real processes before it has given back the user's
// files.
std::atomic<bool>& stop_on_interrupt();
// The exit code of a program that a signal stopped, as shells have it: 130 after Ctrl-C, 143 after SIGTERM.
int code_of_stop();

// The same for a dialogue: a pending read of input also ends.
std::atomic<bool>& stop_while_reading();

}  // namespace deadrank::runners::commands
