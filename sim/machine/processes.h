// sim/machine/processes.h — The life of the job's processes: started, stopped, killed, raising, ended. The
// kernel's part of the cluster.
#pragma once

#include <string_view>

#include "sim/engine/effort.h"
#include "sim/machine/process.h"
#include "sim/world/failure.h"

namespace deadrank::sim {

struct Machine;

class Processes {
public:
    explicit Processes(Machine& machine);

    // Of a rank in the crowd: the process that plays for it.
    Process& operator[](Rank id) { return all_[place_of(id)]; }
    const Process& operator[](Rank id) const { return all_[place_of(id)]; }
    Rank count() const { return count_; }
    bool has_crowd() const { return static_cast<std::size_t>(count_) > all_.size(); }
    bool in_crowd(Rank id) const { return has_crowd() && (*this)[id].weight > 1; }
    bool any_stopped() const { return stopped_ > 0; }
    Counted<Process>& all() { return all_; }  // those that are played, by id
    const Counted<Process>& all() const { return all_; }

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
    std::size_t place_of(Rank id) const;
    void run(Process& process);
    void take_pending(Process& process);
    void fail(Process& process, const RankFailure& failure);
    void end(Process& process, ProcessEnd how, int code, int signal);

    void set_stopped(Process& process, bool stopped);

    Machine& machine_;
    Rank count_ = 0;
    Rank stopped_ = 0;  // how many of them are
    Counted<Process> all_;
    std::size_t crowd_ = 0;  // the place of who plays for the crowd
};

}  // namespace deadrank::sim
