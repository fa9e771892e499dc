// sim/machine/launcher.h — Starts the processes of the job, watches them as the real launcher does, and
// prints what torchrun and mpirun print.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/engine/actor.h"
#include "sim/machine/health_check.h"
#include "sim/machine/processes.h"

namespace deadrank::sim {

struct Machine;

// A process that ended badly, and when its agent saw it.
struct SeenFailure {
    const Process* process;
    Time at;
};

// Who starts the job, watches its processes, and decides what one failure means for the others. torchrun
// looks every few seconds and ends all; mpirun ends all at once; a bare loop over ssh tells no one; a
// launcher for each replica starts that one again and leaves the others alone. With health checks a scheduler
// stands behind torchrun: it stops a job one of whose nodes fails, and starts it again with a spare.
class Launcher {
public:
    explicit Launcher(Machine& machine) : machine_(machine) {}

    void start();                                 // as an actor of its own, so that what it does takes time
    void process_raised(std::string_view words);  // before process_ended
    void process_ended(const Process& process);
    void preempt(std::string_view reason);
    int restart_count(const Process& process) const;  // as it writes it into the environment

private:
    void body();
    void show_sample();
    void start_processes();
    bool end_attempt();  // false: the job is over
    bool queue_again();
    bool take_spare_nodes();
    Time next_look_at_nodes() const;
    bool finds_a_sick_node();
    bool enough_spares_for(const std::vector<SickNode>& nodes) const;
    void replace(const std::vector<SickNode>& nodes);
    void restart_without(const std::vector<SickNode>& nodes);
    // Agents that go on with fewer nodes, and take them in when they are back (launcher_nodes.cpp).
    bool is_elastic() const;
    void note_lost(int node);
    Time next_change() const;
    bool change_nodes();
    bool can_run_without_lost() const;
    void number_ranks();
    bool may_start_again();
    void sleep_until_next_poll(Time interval);
    void report_test();
    void wait_for_trouble();
    void plan_next_life(const Process& process);
    void watch_replicas();
    void note_failures(int node, std::vector<SeenFailure>& failures);
    void end_others();
    void stop_job(int code, std::string_view reason);
    void wait_until_gone(Time deadline);
    bool all_gone() const { return running_ == 0; }
    ActorId actor() const;

    Machine& machine_;
    Rank running_ = 0;
    Rank first_failure_ = results::no_rank;
    std::string raised_;  // the exception of the first one, where the launcher tells it
    bool node_lost_ = false;
    int spares_taken_ = 0;
    Time looked_at_nodes_{0};
    std::vector<SickNode> sick_;              // found while the job runs: it is to be stopped
    int failures_ = 0;                        // attempts that a rank's failure has ended
    std::vector<int> failures_on_;            // by node: those of its own ranks
    Time noticed_ = results::never;           // when the agents will have noticed that a node is lost
    std::vector<std::pair<Time, int>> back_;  // when lost nodes are back
    bool numbered_ = false;                   // ranks have other numbers than at first
    std::vector<std::pair<Time, Rank>> due_;  // replicas that start again, the next one first
    std::string restart_reason_;
    bool preempted_ = false;
    std::string preempt_reason_;
};

// ── What torchrun and mpirun print when a process failed, in their own words. Texts: torch 2.11
// (torch/distributed/elastic, torch/testing common_distributed), Open MPI 4.1.

std::string torchrun_failed_line(
    const Process& process);  // failed (exitcode: -9) local_rank: 2 (pid: 1002) of binary: …
// `failures`: of one agent, as it saw them. The first is the root cause, the others are listed before it.
std::string torchrun_report(const std::string& script, const std::vector<SeenFailure>& failures,
                            const std::string& host);
std::string mpirun_report(const Process& process, const std::string& host);
int mpirun_code(const Process& process);
std::string spawn_report(const Process& process, std::string_view raised);
std::string test_name(const std::string& script, Rank ranks);  // test_train.py::test_on_8_ranks
std::string test_process_failed(const Process& process);
std::string test_timed_out(const Process& process, Time after);

}  // namespace deadrank::sim
