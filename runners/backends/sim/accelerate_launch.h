// runners/backends/sim/accelerate_launch.h — `accelerate launch` reads options, configuration files and what the machine has.
// Its own code does that here: it is stopped where it would start processes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runners/backends/sim/managed_runner.h"
#include "scenarios/model/error.h"

namespace deadrank::runners {

struct StartedWords {
    std::vector<std::string> words;                  // of torchrun or Python
    std::map<std::string, std::string> environment;  // what accelerate gives to its processes
};

// The words themselves unless they begin with `accelerate launch`. `gpus`: that accelerate finds; 0: as many as processes.
// Errors: usage, in accelerate's words; environment, if the Python of `settings` has no accelerate.
scenarios::Result<StartedWords> words_behind_accelerate(const std::vector<std::string>& words,
                                                        const ManagedSettings& settings, int gpus);

}  // namespace deadrank::runners
