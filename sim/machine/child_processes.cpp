// sim/machine/child_processes.cpp — How processes that are no rank begin and end. Nobody is told: who does
// not ask for a child's code never learns that it has died.
#include "sim/machine/child_processes.h"

#include <algorithm>

#include "sim/machine/machine.h"

namespace deadrank::sim {

namespace {

constexpr int first_child = 200'000;  // beyond the pids of ranks

}  // namespace

Children::Child* Children::find(int pid) {
    const auto place = static_cast<std::size_t>(pid - first_child);
    return pid >= first_child && place < all_.size() ? all_[place].get() : nullptr;
}

int Children::start(Process& parent, const ChildRequest& request) {
    HostState& host = machine_.hosts[parent.node];
    if (request.host_bytes > host.memory_limit - host.memory_used)
        throw RankFailure("OSError: [Errno 12] Cannot allocate memory");
    auto child = std::make_unique<Child>();
    child->what = request;
    child->pid = first_child + static_cast<int>(all_.size());
    child->node = parent.node;
    child->parent = parent.id;
    child->parent_pid = parent.pid;
    if (child->what.device < 0) child->what.device = machine_.devices.bind(parent);
    host.memory_used += request.host_bytes;
    Child& made = *child;
    all_.push_back(std::move(child));
    DeviceState& device = machine_.devices.at(made.node, made.what.device);
    const std::int64_t free = machine_.devices.limit_of(device) - device.used;
    if (request.device_bytes > free) {  // its own CUDA refuses, and only its code says so
        made.what.device_bytes = 0;
        end(made, 1);
    } else {
        device.used += request.device_bytes;
        device.peak = std::max(device.peak, device.used);
    }
    if (made.alive && request.lasts != results::never)
        machine_.engine.call_after(request.lasts, {.label = "a child ends"}, [this, pid = made.pid] {
            if (Child* ends = find(pid); ends->alive) end(*ends, ends->what.code);
        });
    return made.pid;
}

void Children::end(Child& child, int code) {
    child.alive = false;
    child.code = code;
    machine_.hosts[child.node].memory_used -= child.what.host_bytes;
    DeviceState& device = machine_.devices.at(child.node, child.what.device);
    device.used = std::max<std::int64_t>(0, device.used - child.what.device_bytes);
    if (child.waiting != results::no_rank) machine_.engine.wake(static_cast<ActorId>(child.waiting));
}

bool Children::signal(int node, int pid, int number) {
    Child* const child = find(pid);
    if (!child || !child->alive || child->node != node) return false;
    const bool only_stops = number == results::sigstop || number == results::sigcont;
    const bool ignored = number == results::sigterm && child->what.ignores_sigterm;
    if (number != 0 && !only_stops && !ignored) end(*child, -number);
    return true;
}

std::optional<int> Children::code_of(int pid) const {
    const Child* const child = const_cast<Children*>(this)->find(pid);
    return child && !child->alive ? std::optional(child->code) : std::nullopt;
}

bool Children::wait_for(Process& waiting, int pid, Time patience) {
    Child* const child = find(pid);
    if (!child) return true;
    child->waiting = waiting.id;
    const Time deadline = patience == results::never ? patience : machine_.engine.now() + patience;
    return machine_.wait_until(waiting, {.kind = WaitKind::other}, deadline, [&] { return !child->alive; });
}

void Children::parent_gone(const Process& parent) {
    for (const auto& child : all_) {
        if (!child->alive || child->parent != parent.id || child->parent_pid != parent.pid) continue;
        child->waiting = results::no_rank;
        if (child->what.ends_with_parent) end(*child, -results::sigkill);
    }
}

void Children::node_gone(int node) {
    for (const auto& child : all_)
        if (child->alive && child->node == node) end(*child, -results::sigkill);
}

std::int64_t Children::held(int node, int device) const {
    std::int64_t bytes = 0;
    for (const auto& child : all_)
        if (child->alive && child->node == node && child->what.device == device)
            bytes += child->what.device_bytes;
    return bytes;
}

}  // namespace deadrank::sim
