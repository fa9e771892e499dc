// runners/backends/sim/left_files_search.h — Reads what a run of a user's program leaves, before the user's files are
// restored.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "results/record/left_files.h"
#include "sim/managed/managed_job.h"

namespace deadrank::runners {

struct LeftFilesSearch {
    std::vector<std::filesystem::path> changed;  // by this run, or by one that it is a copy of
    std::filesystem::path directory;             // where the program was started
    std::filesystem::path temporary;             // the run's own; what is below it is no result
    std::filesystem::path scratch;               // a directory that the process `within` may write
    // By path: what the simulated disk holds in place of the file.
    std::map<std::string, sim::managed::Spoilt> spoilt = {};
    pid_t within = 0;                              // as Zygote::examine()'s
    const results::LeftFiles* healthy = nullptr;  // of the healthy run; null: this is the healthy run
};

// With `healthy`: one entry for each of its files, as this run has it. A file whose bytes are the healthy run's is not
// read. Throws HostTrouble.
results::LeftFiles find_left_files(const LeftFilesSearch& search, sim::managed::Zygote& zygote);

}  // namespace deadrank::runners
