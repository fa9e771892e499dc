// runners/backends/process/private_files.h — Directories that one process, and those that join it, change for
// themselves alone: layers in memory over what is on the disk, in a namespace of mounts.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "scenarios/model/error.h"

namespace deadrank::runners {

// This process, of one thread, has the directories to itself from now on. What it changes is gone with it.
// `layers`: an empty directory, in none of the others. Errors: environment, unsupported.
scenarios::Result<void> make_files_private(std::vector<std::filesystem::path> directories,
                                           const std::filesystem::path& layers);

// Whether that can be done, tried in a process of its own. Errors: as make_files_private().
scenarios::Result<void> try_private_files(const std::vector<std::filesystem::path>& directories,
                                          const std::filesystem::path& layers);

}  // namespace deadrank::runners
