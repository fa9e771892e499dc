// runners/backends/process/home.h — Where the program's own Python files lie: beside the sources, or installed below
// share/.
#pragma once

#include <filesystem>

#include "scenarios/model/error.h"

namespace deadrank::runners {

// The directory that has hook/ and subjects/. Looks at $DEADRANK_HOME, then upward from the program itself.
// Errors: environment.
scenarios::Result<std::filesystem::path> local_home();

// The library that goes before a rank's sockets; empty where it was not built.
std::filesystem::path sockets_shim();
std::filesystem::path files_shim();  // and before its files
std::filesystem::path mpi_shim();    // and before the MPI of a program that is not ours

}  // namespace deadrank::runners
