// runners/preflight/machine_probe.h — Asks this machine what a job would find: interfaces, ports, libraries,
// limits.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "results/preflight/job_snapshot.h"

namespace deadrank::runners {

// The child's half of libraries.h.

// {"nccl": "2.28.9", "cuda": "13.0"}: what this very process would load. A library that is absent is left
// out.
std::string library_versions();

// Which NCCL and which CUDA runtime the loader would give to this process, and their versions by their own
// words.

// Honours the snapshot's LD_LIBRARY_PATH. Libraries are loaded in a child that is given ten seconds.
void read_library_versions(results::preflight::Snapshot& snapshot);

// The network interfaces of this machine, in the system's order.

std::vector<results::preflight::Interface> interfaces_here();

// Takes the snapshot of a process on this machine: its own, or another's by its id.

struct ProbeOptions {
    int pid = 0;               // whose environment; 0 = our own
    std::string python = {};   // asked for its packages; empty = DEADRANK_PYTHON, else python3 on PATH
    bool ask_packages = true;  // starts Python, a tenth of a second
};

// What cannot be asked is left unset. Error: environment, when there is no such process or it is somebody
// else's.
scenarios::Result<results::preflight::Snapshot> take_snapshot(const ProbeOptions& options);

}  // namespace deadrank::runners
