// runners/backends/process/job_processes.h — Finds and ends the processes of a job, and measures how long
// they waited for a processor.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "results/record/subject.h"

namespace deadrank::runners {

// Ends every process of this user whose environment has `mark`, stopped ones too: the job and whatever it
// left behind. Returns how many there were.
int end_all_marked(const std::string& mark);

// Does one of them live?
bool any_marked(const std::string& mark);

// Makes orphaned processes our children, whatever they did to their session and environment. Lasts until this
// process ends.
void adopt_orphans();
// Is this an adopted orphan that carries no run's mark?
bool is_orphan(int pid);
// Ends the adopted orphans that carry no run's mark. Returns how many there were.
int end_orphans();

// What /proc/PID/FILE says now. Empty once the process is gone, also when it ends between opening and
// reading.
std::string process_text(int pid, std::string_view file);
char state_of(int pid);  // R, S, D, T, Z; 'X' = gone

// Adds up how long a job's work has waited for a processor: the longest-waiting thread of each process, in
// total at most the elapsed time.
class Starvation {
public:
    // Call this regularly: when a process exits, its waiting since the last look is lost.
    void look(const std::set<int>& pids, results::Time at);

    const results::Waiting& waiting() const { return waiting_; }

private:
    results::Time longest_in(int pid);  // of any thread, since the last look

    std::map<int, results::Time> of_thread_;
    results::Time sum_{0}, looked_{0};
    results::Waiting waiting_;
};

}  // namespace deadrank::runners
