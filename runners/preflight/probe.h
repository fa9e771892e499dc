// runners/preflight/probe.h — Takes the snapshot of a process on this machine: its own, or another's by its
// id.
#pragma once

#include <filesystem>
#include <string>

#include "results/preflight/snapshot.h"

namespace deadrank::runners {

struct ProbeOptions {
    int pid = 0;               // whose environment; 0 = our own
    std::string python = {};   // asked for its packages; empty = DEADRANK_PYTHON, else python3 on PATH
    bool ask_packages = true;  // starts Python, a tenth of a second
};

// What cannot be asked is left unset. Error: environment, when there is no such process or it is somebody
// else's.
scenarios::Result<results::preflight::Snapshot> take_snapshot(const ProbeOptions& options);

}  // namespace deadrank::runners
