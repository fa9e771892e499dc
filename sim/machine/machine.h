// sim/machine/machine.h — The machines of one simulated cluster: hosts, devices, files, network, processes
// and the launcher. What uses them is above, in sim/collectives, and is notified through hooks.
#pragma once

#include "sim/engine/engine.h"
#include "sim/machine/call.h"
#include "sim/machine/device.h"
#include "sim/machine/environment.h"
#include "sim/machine/files.h"
#include "sim/machine/host.h"
#include "sim/machine/launcher.h"
#include "sim/machine/network.h"
#include "sim/machine/processes.h"
#include "sim/machine/recorder.h"
#include "sim/machine/store.h"
#include "sim/machine/topology.h"

namespace deadrank::sim {

struct Machine {
    Machine(Engine& engine_of_stage, const ClusterSettings& cluster, Seed drawn, results::EventSink& sink);
    virtual ~Machine() = default;
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    // What the layer above is notified of.
    virtual void play(Process& process) = 0;                  // the workload, on the process's own fiber
    virtual void links_changed(const LinkChange* reset) = 0;  // `reset`: connections broke at once
    virtual void process_gone(Process& process) = 0;
    virtual void process_stopped(Process& process) = 0;  // under SIGSTOP, or no longer
    virtual void process_resumed(Process& process) = 0;  // after process_stopped
    virtual void forget_communicators() = 0;             // a new attempt begins

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

    void
    begin_attempt();  // forgets what does not outlive the processes: communicators, stores, device memory

    // A spare takes the node's name and place. Its local files are gone, and so is whatever was wrong with
    // it.
    void replace_node(int node);

    Engine& engine;
    const ClusterSettings settings;
    const Seed seed;
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
    Samples samples;
    Launcher launcher;
};

}  // namespace deadrank::sim
