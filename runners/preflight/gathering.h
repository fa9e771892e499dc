// runners/preflight/gathering.h — The snapshots of all processes of a job, gathered in a directory that all
// of them see. Works without ranks: the ranks that processes claim are part of what is examined.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "results/preflight/examine.h"

namespace deadrank::runners {

struct GatherPlan {
    std::filesystem::path directory;  // of this job alone
    std::int64_t expected = 1;        // number of processes
    bool this_host_only = false;      // the job has more hosts, which do not share this directory
};

// From the launcher's variables (torchrun, mpirun, srun). `shared`: a directory that all hosts see; empty = a
// local one.
GatherPlan gather_plan(const results::preflight::Snapshot& own, const std::filesystem::path& shared);

struct Gathered {
    results::preflight::Job job;  // ordered by RANK if it can be read, else by host and process
    bool complete = true;
    bool speaks = true;  // true in the one process that reports the outcome
};

// Every process writes its own snapshot and waits for the others. Errors: io.
scenarios::Result<Gathered> gather(const results::preflight::Snapshot& own, const GatherPlan& plan,
                                   std::chrono::milliseconds patience);

// Sorts into the order by which remarks refer to processes.
void put_in_order(results::preflight::Job& job);

}  // namespace deadrank::runners
