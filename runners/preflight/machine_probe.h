// runners/preflight/machine_probe.h — Asks this machine what a job would find: interfaces, ports, libraries,
// limits.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "results/preflight/job_snapshot.h"

namespace deadrank::runners {

// The child's half of read_library_versions().
// {"nccl": "2.28.9", "cuda": "13.0"}: what this process itself would load. Absent libraries are left out.
std::string library_versions();

// Which NCCL and CUDA runtime the loader would give the process, with the versions that they report.
// Honours the snapshot's LD_LIBRARY_PATH. Libraries are loaded in a child with a ten-second limit.
void read_library_versions(results::preflight::Snapshot& snapshot);

// The network interfaces of this machine, in the system's order.
std::vector<results::preflight::Interface> interfaces_here();

// ── Takes the snapshot of a process on this machine: ourselves, or another by its id.

struct ProbeOptions {
    int pid = 0;               // whose environment; 0 = our own
    std::string python = {};   // whose packages are listed; empty = DEADRANK_PYTHON, else python3 on PATH
    bool ask_packages = true;  // starts Python, which takes a tenth of a second
};

// What cannot be read is left unset. Error: environment, when the process does not exist or is another
// user's.
scenarios::Result<results::preflight::Snapshot> take_snapshot(const ProbeOptions& options);

}  // namespace deadrank::runners
