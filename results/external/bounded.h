// results/external/bounded.h — Runs a stranger's program within bounds: of time, of output, and of our own
// wish to stop. What it started is ended with it.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/model/error.h"

namespace deadrank::results::external {

struct Bounds {
    std::chrono::milliseconds time{60'000};
    std::size_t output = 64u << 20;           // bytes of stdout and stderr together
    const std::atomic<bool>* stop = nullptr;  // may be null
};

enum class Ending { by_itself, signal, out_of_time, too_much_output, stopped };

struct BoundedAnswer {
    Ending ending = Ending::by_itself;
    int code = 0;    // exit status, when it ended by itself
    int signal = 0;  // what ended it, when it was a signal not ours
    std::string out, err;
    double seconds = 0;  // wall time

    bool well() const { return ending == Ending::by_itself && code == 0; }
    std::string how() const;  // "ended with code 3", "was still running after 60 s and was ended"
    // The last lines of what it said on standard error, in one line; for a reader of our sentence.
    std::string last_words() const;
};

// `input`: a file for its standard input; empty = nothing to read. `environment`: further NAME=value.
// Errors: environment, when it cannot be started; io.
scenarios::Result<BoundedAnswer> run_bounded(const std::vector<std::string>& argv, const Bounds& bounds,
                                             const std::string& input = {},
                                             const std::vector<std::string>& environment = {});

// A line of what a program said, without the blanks around it.
std::string_view trimmed(std::string_view line);

}  // namespace deadrank::results::external
