// sim/machine/host.h — Nodes: their memory, shared memory and file handles, their network interfaces, and
// their clocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "results/record/changes.h"
#include "sim/machine/processes.h"

namespace deadrank::sim {

using results::HostChange;

struct Machine;

struct Interface {
    std::string name;
    bool routable = true;        // other nodes reach it
    std::int64_t bandwidth = 0;  // that sockets over it reach, bits a second; 0 = the link's

    bool operator==(const Interface&) const = default;
};

struct HostState {
    std::int64_t memory_limit = 0, shared_limit = 0, files_limit = 0;
    std::int64_t memory_used = 0, shared_used = 0, files_used = 0;
    std::int64_t leak_per_step = 0;
    Time clock_offset{0};
    std::int64_t clock_drift_ppb = 0;
    Time drift_since{0};
    bool down = false;
    bool disk_failed = false, card_failed = false;  // they have answered an error
    results::DirectAccess direct = results::DirectAccess::works;
    bool peers_stuck = false;
    results::Firewall firewall = results::Firewall::open;
    std::int64_t locked_limit = -1;  // bytes that a process may lock in memory; -1 = as many as it likes
    std::vector<Interface> interfaces;
};

class Hosts {
public:
    explicit Hosts(Machine& machine);

    HostState& operator[](int node) { return all_[static_cast<std::size_t>(node)]; }
    const HostState& operator[](int node) const { return all_[static_cast<std::size_t>(node)]; }

    Time clock(int node) const;  // what the node believes the time to be

    // Throws OutOfMemory for pinned memory; for other memory the kernel kills the process.
    void allocate(Process& process, std::int64_t bytes, bool pinned);
    void release(Process& process, std::int64_t bytes);
    bool take_shared(int node, std::int64_t bytes);
    bool open_files(int node, std::int64_t count);
    void give_back(int node, std::int64_t shared, std::int64_t files);  // of take_shared() and open_files()
    void step(Process& process);                                        // leaks

    void change(int node, const HostChange& change);
    std::vector<int> lost() const;
    void replace(int node);  // by a spare of its name, as it was built; files of the lost one stay lost
    void add_interface(int node, Interface interface, bool sorts_first);
    // False: there is none of that name. An empty new name: it is gone.
    bool rename_interface(int node, std::string_view name, std::string_view new_name);

private:
    Machine& machine_;
    std::vector<HostState> all_;
};

}  // namespace deadrank::sim
