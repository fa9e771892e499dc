// runners/backends/local/local_job.h — A program under test as processes: started by torchrun or by mpirun,
// watched and ended.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runners/backend/runner.h"
#include "runners/backends/local/local_subject.h"
#include "runners/backends/process/launch.h"
#include "runners/backends/process/mpirun.h"

namespace deadrank::runners {

// ── The processes of one job: torchrun, or every rank by itself, each with its environment.

struct JobPlace {
    std::filesystem::path directory;    // of this run
    std::filesystem::path temporary;    // TMPDIR, short enough for sockets below it
    std::filesystem::path hook;         // goes to PYTHONPATH
    int port = 0;                       // where the ranks meet
    std::string preload;                // LD_PRELOAD for the ranks, separated by colons
    std::filesystem::path kept;         // for copies of files that it changes; empty = no copies
    std::string address = "127.0.0.1";  // and the host of that port
    std::string network;                // what hooks must know of their nodes' networks; empty = none
    std::string store;                  // what hooks must know of the proxy before the store; empty = none
};

std::vector<ChildSpec> children_of(const scenarios::Plan& plan, const Manifest& manifest,
                                   const Subject& subject, const Python& python, const JobPlace& place);

// A user's MPI program under test: started by mpirun, with our library loaded before its MPI, watched and
// ended like any real process.
class MpiProgram final : public Runner {
public:
    // The program and its arguments, as they would follow mpirun.
    explicit MpiProgram(std::vector<std::string> command) : command_(std::move(command)) {}

    std::string_view name() const override { return "mpi"; }
    scenarios::Capabilities capabilities() const override;

    // Errors: unsupported (a moment that such a program does not show, a build without the library),
    // environment (no mpirun), io.
    scenarios::Result<Record> play(const scenarios::Plan& plan, const RunOptions& options) override;

private:
    std::vector<std::string> command_;
};

}  // namespace deadrank::runners
