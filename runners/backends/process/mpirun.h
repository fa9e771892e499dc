// runners/backends/process/mpirun.h — What starts the processes of a job: mpirun's command line and
// environment, and the Pythons on this machine that have a torch with gloo.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runners/backends/process/launch.h"
#include "scenarios/model/error.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners {

// Errors: unsupported, when this build has no rank program; environment, when there is no mpirun.
scenarios::Result<std::filesystem::path> mpi_rank_program();
scenarios::Result<std::filesystem::path> mpirun_program();

struct MpiJob {
    std::filesystem::path mpirun, rank_program, directory;
    std::int64_t ranks = 1;
    bool bare = false;  // no launcher watches the ranks
};
ChildSpec mpirun_child(const MpiJob& job);

// mpirun and its settings, before the number of ranks and the program.
std::vector<std::string> mpirun_words(const MpiJob& job);

// The Pythons on this machine that have a torch with gloo.
struct Python {
    std::filesystem::path program;
    std::string torch;   // "2.11.0"
    std::string origin;  // one phrase: where it comes from

    int major() const;
    std::string text() const;  // "torch 2.11.0 (…) at …"
};

// All of them, best first: $DEADRANK_PYTHON, the environment that deadrank was installed into with pip, the
// one that ./dev makes, python3 on PATH, the system's. Looked up once per process.
const std::vector<Python>& pythons();

// Errors: environment, with what would help.
scenarios::Result<Python> best_python();

// The first of them that has torch's files, whether or not torch can be imported. Takes no seconds.
scenarios::Result<Python> python_with_torch_installed();

// The first of their candidates that can import this module, with or without torch. Errors: environment, with pip's
// command.
scenarios::Result<std::filesystem::path> python_with(const std::string& module);

// The version of a module that this Python can import; empty if it cannot. Looked up once per process.
std::string version_of(const Python& python, const std::string& module);

// The path of a package's file, "torch/optim/sgd.py", that this Python would import; empty if it has none. Each
// directory is a word. Looked up once per process.
std::filesystem::path package_file(const std::filesystem::path& python, const std::string& file);

// A Python with that release of torch ("1.13", "1.13.1": patch levels do not matter). Errors: unsupported,
// naming the releases found.
scenarios::Result<Python> python_with_torch(std::string_view version);

}  // namespace deadrank::runners
