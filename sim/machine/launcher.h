// sim/machine/launcher.h — Who starts the job, watches its processes, and decides what one failure means for
// the others. torchrun looks every few seconds and ends all; mpirun ends all at once; a bare loop over ssh
// tells nobody.
#pragma once

#include <string>

#include "sim/engine/actor.h"
#include "sim/machine/process.h"

namespace deadrank::sim {

struct Machine;

class Launcher {
public:
    explicit Launcher(Machine& machine) : machine_(machine) {}

    void start();  // as an actor of its own, so that what it does takes time
    void process_ended(const Process& process);
    void preempt(std::string_view reason);

private:
    void body();
    void show_sample();
    void start_processes();
    bool end_attempt();  // false: the job is over
    void sleep_until_next_look(Time interval);
    void report_test();
    void wait_for_trouble();
    void end_others();
    void stop_job(int code, std::string_view reason);
    void wait_until_gone(Time deadline);
    bool all_gone() const { return running_ == 0; }
    ActorId actor() const;

    Machine& machine_;
    Rank running_ = 0;
    Rank first_failure_ = results::no_rank;
    bool node_lost_ = false;
    bool preempted_ = false;
    std::string preempt_reason_;
};

}  // namespace deadrank::sim
