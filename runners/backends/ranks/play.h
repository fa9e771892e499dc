// runners/backends/ranks/play.h — Plays a plan with real ranks of ours, whoever starts them: a directory, a
// plan for the ranks to read, their processes, a watchdog outside the job, and what was left afterwards.
#pragma once

#include <chrono>
#include <functional>

#include "runners/backends/process/launch.h"
#include "runners/backends/ranks/rank_levers.h"
#include "runners/runner/runner.h"

namespace deadrank::runners {

struct RankBackend {
    Reach reach;
    std::string says;     // the first note: what plays, and how many
    std::string starter;  // what starts the ranks: "mpirun"
    std::string remedy;   // where it started none
    // One process each, or one that starts all of them.
    std::function<std::vector<ChildSpec>(const scenarios::Plan& played,
                                         const std::filesystem::path& directory)>
        children;
    std::chrono::seconds patience{0};           // of ours: how much longer than here a library may be silent
    std::vector<std::string> directories = {};  // of the run, beside the usual ones
};

scenarios::Capabilities rank_capabilities(const std::string& backend, const Reach& reach);

// Errors: unsupported, environment, io.
scenarios::Result<Record> play_ranks(const scenarios::Plan& plan, const RunOptions& options,
                                     const RankBackend& backend);

}  // namespace deadrank::runners
