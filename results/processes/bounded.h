// results/processes/bounded.h — Runs a program to its end within bounds of time and output.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "results/processes/child.h"
#include "scenarios/model/error.h"

namespace deadrank::results::processes {

struct Bounds {
    std::chrono::milliseconds time{60'000};
    std::size_t output = 64u << 20;      // bytes of stdout and stderr together
    std::chrono::milliseconds grace{0};  // from SIGTERM to SIGKILL; 0 = SIGKILL at once
    std::function<bool()> stopped = {};  // called many times a second; may be empty

    // For a program that may take as long as it likes.
    static Bounds none(std::function<bool()> stopped = {});
};

enum class Ending { by_itself, signal, out_of_time, too_much_output, stopped };

struct BoundedAnswer {
    Ending ending = Ending::by_itself;
    int code = 0;    // exit status; 128 + signal if a signal ended it
    int signal = 0;  // the signal that ended it
    std::string out, err;
    double seconds = 0;      // wall time
    double cpu_seconds = 0;  // of the program and its awaited children

    bool well() const { return ending == Ending::by_itself && code == 0; }
    std::string how() const;  // "ended with code 3", "was still running after 60 s and was ended"
    // The last lines of its standard error, joined into one line for an error message.
    std::string last_error_text() const;
};

// The program leads a process group, so that ending it ends its children too. `input`: a file for its
// standard input; empty = nothing to read. `environment`: further NAME=value. Errors: those of Child::start.
scenarios::Result<BoundedAnswer> run_bounded(const std::vector<std::string>& argv, const Bounds& bounds,
                                             const std::string& input = {},
                                             const std::vector<std::string>& environment = {});

}  // namespace deadrank::results::processes
