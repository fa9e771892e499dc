// runners/backends/process/scratch.h — Directories of a real run: its raw files, removed at the end unless
// they are wanted, and the program's own Python files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runners/backends/process/journal.h"
#include "scenarios/model/error.h"

namespace deadrank::runners {

class Scratch {
public:
    // `kept`: the caller's directory, which stays; empty = a temporary one for the run. Errors: io.
    static scenarios::Result<Scratch> make(const std::filesystem::path& kept,
                                           const std::vector<std::string>& parts);
    Scratch(Scratch&& other) noexcept;
    Scratch& operator=(Scratch&&) = delete;
    ~Scratch();

    const std::filesystem::path& path() const { return path_; }

private:
    Scratch(std::filesystem::path path, bool keep) : path_(std::move(path)), keep_(keep) {}

    std::filesystem::path path_;
    bool keep_;
    std::optional<Journal> journal_;
    std::optional<Journal::Entry> journal_entry_;
};

// Where deadrank's own Python files are: beside the sources, or installed below share/.
// The directory that has hook/ and subjects/. Looks at $DEADRANK_HOME, then upward from the program itself.
// Errors: environment.
scenarios::Result<std::filesystem::path> local_home();
// The directory that has the Python package deadrank. Errors: as local_home().
scenarios::Result<std::filesystem::path> python_package();

// The library preloaded before a rank's sockets; empty if it was not built.
std::filesystem::path sockets_shim();
std::filesystem::path files_shim();  // and before its files
std::filesystem::path mpi_shim();    // and before the MPI of a user's program

// The directory of the stand-in's CUDA and NCCL; empty if it was not built.
std::filesystem::path standin_libraries();

// Our environment without the variables of another job, and with this run's mark.
std::vector<std::string> environment_of_ranks(const std::filesystem::path& directory,
                                              const std::vector<std::string>& foreign);

// A program of deadrank's beside this one, or where it was installed; empty if there is none.
std::filesystem::path program_beside(const std::string& name);

}  // namespace deadrank::runners
