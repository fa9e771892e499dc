// runners/preflight/gathering.h — The snapshots of all processes of a job, by way of a directory that all of
// them see. No rank is needed for it: which ranks they claim is part of what is examined.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "results/preflight/examine.h"

namespace deadrank::runners {

struct GatherPlan {
    std::filesystem::path directory;  // one job's own
    std::int64_t expected = 1;        // how many processes will come
    bool this_host_only = false;      // the job has more hosts, which this directory does not reach
};

// From what launchers tell (torchrun, mpirun, srun). `shared`: a directory that all hosts see; empty = a
// local one.
GatherPlan gather_plan(const results::preflight::Snapshot& own, const std::filesystem::path& shared);

struct Gathered {
    results::preflight::Job job;  // by RANK where it can be read, else by host and process
    bool complete = true;
    bool speaks = true;  // of all processes that have gathered, one tells the outcome
};

// Every process writes its own and waits for the others. Errors: io.
scenarios::Result<Gathered> gather(const results::preflight::Snapshot& own, const GatherPlan& plan,
                                   std::chrono::milliseconds patience);

// In the order that remarks count by.
void put_in_order(results::preflight::Job& job);

}  // namespace deadrank::runners
