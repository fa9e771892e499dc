// sim/managed/trouble.h — What goes wrong with the processes of this machine, as opposed to the simulated
// job.
#pragma once

#include <stdexcept>
#include <string>

namespace deadrank::sim::managed {

// The run proves nothing: a process could not be started, a rank broke the wire format, or it did not come
// back within its limit of real time. Ends the run, never a simulated rank.
struct HostTrouble : std::runtime_error {
    HostTrouble(std::string what, std::string remedy)
        : runtime_error(std::move(what)), help(std::move(remedy)) {}
    std::string help;
};

}  // namespace deadrank::sim::managed
