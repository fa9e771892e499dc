// results/external/program.h — Runs somebody else's program to its end and returns what it said. Loopback and
// pipes only.
#pragma once

#include <string>
#include <vector>

#include "scenarios/model/error.h"

namespace deadrank::results::external {

struct ProgramAnswer {
    int code = 0;  // exit status; 128 + signal when a signal ended it
    std::string out, err;
    double cpu_seconds = 0;  // of the program and its children
};

// `argv[0]` is looked up in PATH. `environment`: NAME=value, instead of ours of that name. Errors:
// environment (it cannot be started), io.
scenarios::Result<ProgramAnswer> run_program(const std::vector<std::string>& argv,
                                             const std::vector<std::string>& environment = {});

// The path of a program, or an empty text.
std::string find_program(const std::string& name);

}  // namespace deadrank::results::external
