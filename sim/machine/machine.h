// sim/machine/machine.h — All parts of one simulated cluster, known to each other. Only sim/*.cpp include this.
#pragma once

#include <functional>

#include "sim/collectives/bootstrap.h"
#include "sim/cluster/cluster.h"
#include "sim/collectives/communicators.h"
#include "sim/machine/device.h"
#include "sim/machine/environment.h"
#include "sim/machine/files.h"
#include "sim/machine/gate.h"
#include "sim/machine/host.h"
#include "sim/machine/launcher.h"
#include "sim/machine/network.h"
#include "sim/machine/process.h"
#include "sim/machine/processes.h"
#include "sim/machine/recorder.h"
#include "sim/cluster/samples.h"
#include "sim/machine/store.h"
#include "sim/machine/topology.h"
#include "sim/collectives/watchdog.h"

namespace deadrank::sim {

struct Machine {
    Machine(Engine& engine_of_stage, const ClusterSettings& cluster, Seed drawn, results::EventSink& sink);
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    // Blocks the process's fiber until `done()`. Signals and raised exits come through here.
    template <class Condition>
    void wait(Process& process, const WaitNote& note, Condition done) {
        process.waits = note;
        while (!done()) {
            engine.block({.what = "a call"});
            processes.settle(process);
        }
        process.waits = {};
    }

    // As above; false when `deadline` came first.
    template <class Condition>
    bool wait_until(Process& process, const WaitNote& note, Time deadline, Condition done) {
        process.waits = note;
        while (!done() && engine.now() < deadline) {
            engine.block_until(deadline, {.what = "a call"});
            processes.settle(process);
        }
        process.waits = {};
        return done();
    }

    void begin_attempt();  // what does not outlive the processes is forgotten: communicators, stores, device
                           // memory

    Engine& engine;
    const ClusterSettings settings;
    const Seed seed;
    std::function<void(World&)> workload;
    int attempt = 0;
    Time attempt_started{0};

    Recorder recorder;
    Topology topology;
    Environment environment;
    Network network;
    Hosts hosts;
    Devices devices;
    Files files;
    Processes processes;
    Gate gate;
    Stores stores;
    Communicators communicators;
    Bootstrap bootstrap;
    Watchdog watchdog;
    Samples samples;
    Launcher launcher;
};

}  // namespace deadrank::sim
