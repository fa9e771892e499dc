// sim/machine/child_processes.h — Processes that are no rank: what a rank has started beside itself. They
// hold memory of their node and its devices, and outlive the rank unless they were told to end with it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/machine/processes.h"
#include "sim/world/world.h"

namespace deadrank::sim {

struct Machine;

class Children {
public:
    explicit Children(Machine& machine) : machine_(machine) {}

    // The pid. Throws what Python does where the node has no memory for another process.
    int start(Process& parent, const ChildRequest& request);
    // False: the node has no such process, or it is over. Number 0 only asks.
    bool signal(int node, int pid, int number);
    std::optional<int> code_of(int pid) const;  // nothing while it runs
    bool wait_for(Process& waiting, int pid, Time patience);

    void parent_gone(const Process& parent);
    void node_gone(int node);
    std::int64_t held(int node, int device) const;  // bytes

private:
    struct Child {
        ChildRequest what;
        int pid = 0, node = 0;
        Rank parent = 0;
        int parent_pid = 0;
        bool alive = true;
        int code = 0;
        Rank waiting = results::no_rank;
    };

    Child* find(int pid);
    void end(Child& child, int code);

    Machine& machine_;
    std::vector<std::unique_ptr<Child>> all_;
};

}  // namespace deadrank::sim
