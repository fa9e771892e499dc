// sim/collectives/fabric.h — The machines with what talks over them: communicators, their bootstrap, and each
// process's watchdog. Only sim/collectives/*.cpp and sim/cluster/*.cpp include this.
#pragma once

#include "sim/collectives/bootstrap.h"
#include "sim/collectives/communicators.h"
#include "sim/collectives/watchdog.h"
#include "sim/machine/machine.h"

namespace deadrank::sim {

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
