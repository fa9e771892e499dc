// sim/processes.h — The life of the job's processes: started, stopped, killed, raising, ended. The kernel's
// part of the cluster.
#pragma once

#include <string_view>
#include <vector>

#include "sim/failure.h"
#include "sim/process.h"

namespace deadrank::sim {

struct Machine;

class Processes {
public:
    explicit Processes(Machine& machine);

    Process& operator[](Rank id) { return all_[static_cast<std::size_t>(id)]; }
    const Process& operator[](Rank id) const { return all_[static_cast<std::size_t>(id)]; }
    Rank count() const { return static_cast<Rank>(all_.size()); }
    std::vector<Process>& all() { return all_; }
    const std::vector<Process>& all() const { return all_; }

    void start(Process& process);

    // From anywhere. A process that asks for its own end goes on until it reaches settle().
    void signal(Process& process, int number);
    void raise(Process& process, int code, std::string_view says);
    void stop(Process& process);
    void resume(Process& process);
    void lose(Process& process);  // with its node: no exit is seen

    // On the process's own fiber, after each wait and each look from outside: takes what is pending.
    void settle(Process& process) {
        if (process.pending_stop || process.pending_signal != 0 || process.pending_exit)
            take_pending(process);
    }

private:
    void run(Process& process);
    void take_pending(Process& process);
    void fail(Process& process, const RankFailure& failure);
    void end(Process& process, ProcessEnd how, int code, int signal);

    Machine& machine_;
    std::vector<Process> all_;
};

}  // namespace deadrank::sim
