// runners/backends/ranks/play.h — Plays a plan with our own rank programs, whatever starts them: a directory,
// a plan for the ranks to read, their processes, a watchdog outside the job, and what they left behind.
#pragma once

#include <chrono>
#include <functional>

#include "runners/backend/runner.h"
#include "runners/backends/process/launch.h"
#include "runners/backends/ranks/rank_levers.h"

namespace deadrank::runners {

struct RankBackend {
    Reach reach;
    std::string says;     // the first note: what plays, on how many ranks
    std::string starter;  // what starts the ranks: "mpirun"
    std::string remedy;   // if it started no rank
    // One process per rank, or one that starts them all.
    std::function<std::vector<ChildSpec>(const scenarios::Plan& played,
                                         const std::filesystem::path& directory)>
        children;
    std::chrono::seconds patience{0};           // real time that a library may be silent beyond the usual
    std::vector<std::string> directories = {};  // of the run, besides the usual ones
};

scenarios::Capabilities rank_capabilities(const std::string& backend, const Reach& reach);

// Errors: unsupported, environment, io.
scenarios::Result<Record> play_ranks(const scenarios::Plan& plan, const RunOptions& options,
                                     const RankBackend& backend);

}  // namespace deadrank::runners
