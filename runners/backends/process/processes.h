// runners/backends/process/processes.h — Starting, finding and ending processes of this machine, without a
// shell.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "scenarios/model/error.h"

namespace deadrank::runners {

struct Started {
    int pid = -1;
    int output = -1;  // read ends of its stdout and stderr
    int errors = -1;
};

// In a session of its own, so that our Ctrl-C does not reach it before we have kept its evidence.
scenarios::Result<Started> start(const std::vector<std::string>& command,
                                 const std::vector<std::string>& environment);

// Ends every process of this user whose environment has `mark`: the job and whatever it left behind. Stopped
// ones are woken first. Returns how many there were.
int end_all_marked(const std::string& mark);

// A process whose parent left it behind becomes ours, whatever it did to its session and its environment.
// Holds for the rest of this process.
void adopt_orphans();
// Ends those that came so and carry no other run's mark. Returns how many there were.
int end_orphans();

char state_of(int pid);  // R, S, D, T, Z; 'X' = gone

}  // namespace deadrank::runners
