// sim/collectives/watchdog.h — torch.distributed's watchdog thread of each process: looks once a second for
// work that is too old and for asynchronous errors, and takes the process down. It sleeps for good while
// nothing is pending, so that it costs no events.
#pragma once

#include <map>
#include <string>

#include "results/record/time.h"

namespace deadrank::sim {

struct Fabric;
struct Process;
class Communicator;

class Watchdog {
public:
    explicit Watchdog(Fabric& machine) : machine_(machine) {}

    void entered(Process& process, results::Time timeout);  // something became pending, with this bound
    void async_error(Process& process);                     // one of its communicators has an error to poll
    void resumed(Process& process);                         // the thread goes on where SIGSTOP held it

private:
    struct Pending;
    struct Look {
        int pid = 0;
        results::Time at{0};
    };

    void look_at(Process& process, results::Time when);
    void look(Process& process);
    bool oldest(const Process& process, Pending& found) const;
    void time_out(Process& process, const Pending& late);
    void report_error(Process& process, Communicator& comm, results::Rank index);
    void take_down(Process& process, const Communicator& comm, results::Rank index,
                   const std::string& reason);
    results::Time next_poll(const Process& process, results::Time after) const;

    Fabric& machine_;
    std::map<results::Rank, Look> next_looks_;  // of processes in groups with a bound of their own
};

}  // namespace deadrank::sim
