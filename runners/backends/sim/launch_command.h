// runners/backends/sim/launch_command.h — Reads a job's launch command: which launcher starts how many ranks,
// and what each of them runs. The simulated launcher then does what the real one would.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "scenarios/model/error.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners {

struct LaunchCommand {
    scenarios::LauncherKind launcher = scenarios::LauncherKind::torchrun;
    std::int64_t nodes = 1;
    std::int64_t ranks_per_node = 1;
    std::int64_t restarts_max = 0;
    std::int64_t monitor_interval = 0;  // nanoseconds; 0: the launcher's own
    std::vector<std::string> argv;  // of a rank, behind the interpreter: "train.py", …; or "-m", "module", …
    std::map<std::string, std::string> environment;  // variables that the launcher adds for all ranks
    std::string local_rank_argument;  // "--local_rank": =N is put behind the script's name; empty: nothing is

    std::int64_t ranks() const { return nodes * ranks_per_node; }
};

// Reads torchrun, python -m torch.distributed.run and .launch, deepspeed, mpirun, mpiexec,
// srun, and plain python, whose ranks `--ranks` gives. `ranks`: of --ranks; 0: as the command says. `gpus`:
// of --gpus; a program that spawns its ranks itself starts one for each, unless --ranks says otherwise.
// Errors: usage, naming the word that cannot be played.
scenarios::Result<LaunchCommand> read_launch_command(const std::vector<std::string>& words,
                                                     std::int64_t ranks, std::int64_t gpus = 0);

}  // namespace deadrank::runners
