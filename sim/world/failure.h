// sim/world/failure.h — What goes wrong inside a rank: exceptions that end at the rank's edge and become an
// exit and a log line. The harness itself never throws these.
#pragma once

#include <stdexcept>
#include <string>

#include "results/record/codes.h"

namespace deadrank::sim {

// The rank's own code gave up: a traceback and an exit code, as a Python process would.
struct RankFailure : std::runtime_error {
    RankFailure(std::string what, int exit_code = 1) : runtime_error(std::move(what)), code(exit_code) {}
    int code;
    bool told = false;  // its traceback is in the log already
};

// A library call returned an error that the rank did not catch. `what` is the text the library logs.
struct LibraryError : RankFailure {
    LibraryError(results::Code answered, std::string what) : RankFailure(std::move(what)), answer(answered) {}
    results::Code answer;
};

struct OutOfMemory : RankFailure {
    using RankFailure::RankFailure;
};

// Taken away from outside by a signal; destructors still run, the job sees only silence.
struct RankKilled {
    int signal = 9;
};

}  // namespace deadrank::sim
