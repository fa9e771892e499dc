// runners/backends/local/mpi_program.h — Somebody's own MPI program under test: started by mpirun, with our
// library before its MPI, watched and ended like any real process.
#pragma once

#include <string>
#include <vector>

#include "runners/runner/runner.h"

namespace deadrank::runners {

class MpiProgram final : public Runner {
public:
    // As mpirun would be given it, without mpirun: the program and its words.
    explicit MpiProgram(std::vector<std::string> command) : command_(std::move(command)) {}

    std::string_view name() const override { return "mpi"; }
    scenarios::Capabilities capabilities() const override;

    // Errors: unsupported (a moment that such a program does not show, a build without the library),
    // environment (no mpirun), io.
    scenarios::Result<Record> run(const scenarios::Plan& plan, const RunOptions& options) override;

private:
    std::vector<std::string> command_;
};

}  // namespace deadrank::runners
