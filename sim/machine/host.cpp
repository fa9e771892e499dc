// sim/machine/host.cpp — Limits, leaks and clocks of nodes.
#include "sim/machine/host.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "results/record/codes.h"
#include "results/record/event_names.h"
#include "sim/machine/machine.h"

namespace deadrank::sim {

namespace {

Time drifted(Time elapsed, std::int64_t ppb) {
    __extension__ typedef __int128 Wide;
    return Time(static_cast<std::int64_t>(Wide{elapsed.count()} * ppb / 1'000'000'000));
}

std::int64_t limit_or(std::optional<std::int64_t> wanted, std::int64_t now, std::int64_t as_built) {
    if (!wanted) return now;
    return *wanted < 0 ? as_built : *wanted;
}

std::vector<Interface> listed(const std::vector<std::string>& names) {
    std::vector<Interface> all;
    if (names == std::vector<std::string>{"none"}) return all;
    for (const std::string& name : names) {
        if (name != "lo") all.push_back({name, true});
    }
    all.push_back({"lo", false});
    return all;
}

}  // namespace

Hosts::Hosts(Machine& machine) : machine_(machine), all_(static_cast<std::size_t>(machine.settings.nodes)) {
    const ClusterSettings& settings = machine.settings;
    const std::int64_t spread = settings.clock_offset.count();
    for (std::size_t node = 0; node < all_.size(); ++node) {
        HostState& host = all_[node];
        host.memory_limit = settings.host_memory;
        host.shared_limit = settings.shared_memory;
        host.files_limit = settings.open_files;
        host.clock_drift_ppb = settings.clock_drift_ppb;
        const Chance chance(machine.seed, {static_cast<std::uint32_t>(node), 0}, "clock");
        if (spread > 0) host.clock_offset = Time(chance.between(0, -spread, spread));
        if (!settings.gpudirect) host.direct = results::DirectAccess::copied;
        host.interfaces = listed(settings.interfaces);
    }
    for (const auto& [name, interfaces] : settings.node_interfaces) {
        if (const int node = machine.topology.node_named(name); node >= 0)
            (*this)[node].interfaces = listed(interfaces);
    }
}

Time Hosts::clock(int node) const {
    const HostState& host = (*this)[node];
    const Time now = machine_.engine.now();
    return now + host.clock_offset + drifted(now - host.drift_since, host.clock_drift_ppb);
}

void Hosts::allocate(Process& process, std::int64_t bytes, bool pinned) {
    HostState& host = (*this)[process.node];
    const std::int64_t free = std::max<std::int64_t>(0, host.memory_limit - host.memory_used);
    if (bytes <= free) {
        host.memory_used += bytes;
        return;
    }
    Recorder& recorder = machine_.recorder;
    recorder.record(
        process.id,
        results::MemoryOom{bytes, free,
                           recorder.text(scenarios::enum_name(pinned ? results::MemoryPlace::pinned
                                                                     : results::MemoryPlace::host))});
    if (pinned) {
        throw OutOfMemory(fmt::format(
            "torch.AcceleratorError: CUDA error: out of memory (cudaHostAlloc of {} bytes)", bytes));
    }
    recorder.log(
        no_rank, 2,
        fmt::format("{} kernel: Out of memory: Killed process {} (python) total-vm:{}kB",
                    machine_.topology.host_name(process.node), process.pid, host.memory_used / 1024));
    process.pending_signal = results::sigkill;
    machine_.processes.settle(process);
}

void Hosts::release(Process& process, std::int64_t bytes) { (*this)[process.node].memory_used -= bytes; }

bool Hosts::take_shared(int node, std::int64_t bytes) {
    HostState& host = (*this)[node];
    if (host.shared_used + bytes > host.shared_limit) return false;
    host.shared_used += bytes;
    return true;
}

bool Hosts::open_files(int node, std::int64_t count) {
    HostState& host = (*this)[node];
    if (host.files_used + count > host.files_limit) return false;
    host.files_used += count;
    return true;
}

void Hosts::give_back(int node, std::int64_t shared, std::int64_t files) {
    HostState& host = (*this)[node];
    host.shared_used =
        std::max<std::int64_t>(0, host.shared_used - shared);  // a replaced node has none of it
    host.files_used = std::max<std::int64_t>(0, host.files_used - files);
}

void Hosts::step(Process& process) {
    const HostState& host = (*this)[process.node];
    if (host.leak_per_step > 0) allocate(process, host.leak_per_step, false);
}

void Hosts::change(int node, const HostChange& change) {
    HostState& host = (*this)[node];
    const ClusterSettings& settings = machine_.settings;
    host.memory_limit = limit_or(change.host_memory_limit, host.memory_limit, settings.host_memory);
    host.shared_limit = limit_or(change.shared_memory_limit, host.shared_limit, settings.shared_memory);
    host.files_limit = limit_or(change.open_files_limit, host.files_limit, settings.open_files);
    host.leak_per_step = change.leak_per_step.value_or(host.leak_per_step);
    host.direct = change.direct.value_or(host.direct);
    host.peers_stuck = change.peers_stuck.value_or(host.peers_stuck);
    host.firewall = change.firewall.value_or(host.firewall);
    host.locked_limit = limit_or(change.locked_memory_limit, host.locked_limit, -1);
    if (change.clock_drift_ppb) {
        const Time now = machine_.engine.now();
        host.clock_offset += drifted(now - host.drift_since, host.clock_drift_ppb);
        host.drift_since = now;
        host.clock_drift_ppb = *change.clock_drift_ppb;
    }
    host.clock_offset += change.clock_step;
    if (!change.down || host.down) return;
    host.down = true;
    machine_.files.node_lost(node);
    machine_.stores.node_lost(node);
    for (Process& process : machine_.processes.all()) {
        if (process.node == node) machine_.processes.lose(process);
    }
}

void Hosts::replace(int node) {
    HostState& host = (*this)[node];
    const ClusterSettings& settings = machine_.settings;
    host.down = host.disk_failed = host.card_failed = host.peers_stuck = false;
    host.direct = settings.gpudirect ? results::DirectAccess::works : results::DirectAccess::copied;
    host.firewall = results::Firewall::open;
    host.locked_limit = -1;
    host.memory_limit = settings.host_memory;
    host.shared_limit = settings.shared_memory;
    host.files_limit = settings.open_files;
    host.memory_used = host.shared_used = host.files_used = host.leak_per_step = 0;
}

std::vector<int> Hosts::lost() const {
    std::vector<int> nodes;
    for (std::size_t node = 0; node < all_.size(); ++node) {
        if (all_[node].down) nodes.push_back(static_cast<int>(node));
    }
    return nodes;
}

void Hosts::add_interface(int node, Interface interface, bool sorts_first) {
    auto& interfaces = (*this)[node].interfaces;
    interfaces.insert(sorts_first ? interfaces.begin() : interfaces.end(), std::move(interface));
}

bool Hosts::rename_interface(int node, std::string_view name, std::string_view new_name) {
    auto& interfaces = (*this)[node].interfaces;
    const auto found = std::find_if(interfaces.begin(), interfaces.end(),
                                    [&](const Interface& known) { return known.name == name; });
    if (found == interfaces.end()) return false;
    if (new_name.empty())
        interfaces.erase(found);
    else
        found->name = new_name;
    return true;
}

}  // namespace deadrank::sim
