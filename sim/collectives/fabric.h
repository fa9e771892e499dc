// sim/collectives/fabric.h — The machines and what communicates over them: all communicators of the job,
// their bootstrap, and each process's watchdog.
#pragma once

#include <memory>
#include <vector>

#include "results/record/changes.h"
#include "sim/collectives/bootstrap.h"
#include "sim/collectives/communicator.h"
#include "sim/collectives/watchdog.h"
#include "sim/machine/machine.h"

namespace deadrank::sim {

using results::LinkChange;

// All communicators of the job, in order of creation. Numbers go on after a restart.
class Communicators {
public:
    explicit Communicators(Fabric& machine) : machine_(machine) {}

    results::CommId next_id() { return ++last_id_; }
    Communicator& add(results::CommId id, std::string name, std::vector<Rank> ranks,
                      std::vector<Rank> processes);
    void member_gone(const Membership& membership) { membership.comm->member_gone(membership.index); }
    void links_changed(const LinkChange* reset);
    void shares_changed(const Ports& ports);  // a transfer begins or stops to use one of them
    const std::vector<std::unique_ptr<Communicator>>& all() const { return all_; }
    void clear();

private:
    Fabric& machine_;
    results::CommId last_id_ = 0;
    std::vector<std::unique_ptr<Communicator>> all_;
    std::vector<std::unique_ptr<Communicator>>
        past_;  // of earlier attempts: fibers that unwind still point to them
};

// The machines and what communicates over them: communicators, their bootstrap, and each process's watchdog.
// Only sim/collectives/*.cpp and sim/cluster/*.cpp include this.
struct Fabric : Machine {
    Fabric(Engine& engine_of_stage, const ClusterSettings& cluster, Seed drawn, results::EventSink& sink);

    void links_changed(const LinkChange* reset) override;
    void process_gone(Process& process) override;
    void process_stopped(Process& process) override;
    void process_resumed(Process& process) override;
    void forget_communicators() override;

    Communicators communicators;
    Bootstrap bootstrap;
    Watchdog watchdog;
};

}  // namespace deadrank::sim
