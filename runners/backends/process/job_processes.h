// runners/backends/process/job_processes.h — The processes of a job: whose children they are, how they end,
// and how long they waited for a processor.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "results/record/subject.h"
#include "scenarios/model/error.h"

namespace deadrank::runners {

// Starting, finding and ending processes of this machine, without a shell.

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

// Looks at a job's threads and adds up how long its work has waited for a processor: of each process the
// thread that waited longest, all together never more than the time that went by.

class Starvation {
public:
    // To be called now and then: what a process waited after the last look is lost when it goes.
    void look(const std::set<int>& pids, results::Time at);

    const results::Waiting& waiting() const { return waiting_; }

private:
    results::Time longest_in(int pid);  // of any thread, since the last look

    std::map<int, results::Time> of_thread_;
    results::Time sum_{0}, looked_{0};
    results::Waiting waiting_;
};

}  // namespace deadrank::runners
