// runners/backends/process/home.h — Where the program's own Python files lie: beside the sources, or
// installed below share/.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "scenarios/model/error.h"

namespace deadrank::runners {

// The directory that has hook/ and subjects/. Looks at $DEADRANK_HOME, then upward from the program itself.
// Errors: environment.
scenarios::Result<std::filesystem::path> local_home();

// The library that goes before a rank's sockets; empty where it was not built.
std::filesystem::path sockets_shim();
std::filesystem::path files_shim();  // and before its files
std::filesystem::path mpi_shim();    // and before the MPI of a program that is not ours

// Our environment without what another job left in it, and with this run's mark.
std::vector<std::string> environment_of_ranks(const std::filesystem::path& directory,
                                              const std::vector<std::string>& foreign);

// A program of ours that lies beside this one, or where it was installed; empty when there is none.
std::filesystem::path program_beside(const std::string& name);

}  // namespace deadrank::runners
