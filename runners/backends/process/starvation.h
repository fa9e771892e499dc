// runners/backends/process/starvation.h — Looks at a job's threads and adds up how long its work has waited
// for a processor: of each process the thread that waited longest, all together never more than the time that
// went by.
#pragma once

#include <map>
#include <set>

#include "results/record/waiting.h"

namespace deadrank::runners {

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
