// sim/machine/device.cpp — A simulated GPU: its memory, its speed, its errors, and what the NVIDIA driver
// writes behind an Xid number in the kernel log.
#include "sim/machine/device.h"

#include <algorithm>
#include <fmt/format.h>

#include "results/record/event_names.h"
#include "sim/machine/machine.h"

namespace deadrank::sim {

Devices::Devices(Machine& machine)
    : machine_(machine),
      per_node_(machine.settings.gpus_per_node),
      nodes_(static_cast<std::size_t>(machine.settings.nodes)) {}

int Devices::choose(Process& process, bool by_place) {
    // A script without LOCAL_RANK puts every process on device 0.
    const auto local = machine_.environment.get(process, "LOCAL_RANK");
    use(process, by_place ? process.local : local ? lax_integer(*local) : 0);
    return process.device;
}

std::vector<int> Devices::shown(const Process& process) const {
    std::vector<int> shown;
    const auto list = machine_.environment.get(process, "CUDA_VISIBLE_DEVICES");
    for (int device = 0; !list && device < per_node_; ++device) shown.push_back(device);
    std::size_t at = 0;
    while (list && at < list->size()) {
        const std::size_t comma = std::min(list->find(',', at), list->size());
        const std::int64_t device = lax_integer(list->substr(at, comma - at));
        // CUDA stops at the first device that it does not know.
        if (device < 0 || device >= per_node_) break;
        shown.push_back(static_cast<int>(device));
        at = comma + 1;
    }
    return shown;
}

void Devices::use(Process& process, std::int64_t wanted) {
    const std::vector<int> visible = shown(process);
    if (visible.empty()) throw RankFailure("RuntimeError: No CUDA GPUs are available");
    if (wanted < 0 || wanted >= std::ssize(visible)) {
        throw RankFailure(
            "torch.AcceleratorError: CUDA error: invalid device ordinal\nCUDA kernel errors might be "
            "asynchronously "
            "reported at some other API call, so the stacktrace below might be incorrect.");
    }
    process.device = visible[static_cast<std::size_t>(wanted)];
}

std::int64_t Devices::bus_id(int device) const { return 0x1b000 + std::int64_t{device} * 0x10000; }

void Devices::refuse() {
    throw LibraryError(Code::unhandled_device_error,
                       "torch.AcceleratorError: CUDA error: unspecified launch failure\nCUDA kernel errors "
                       "might be asynchronously "
                       "reported at some other API call, so the stacktrace below might be incorrect.");
}

Time Devices::queue(Process& process, Time nominal) {
    check(process);
    DeviceState& device = of(process);
    const Time real = nominal / 1000 * device.slow_permille + nominal % 1000 * device.slow_permille / 1000;
    device.busy += real;
    return real;
}

void Devices::compute(Process& process, Time nominal) {
    machine_.engine.sleep(queue(process, nominal));
    machine_.processes.settle(process);
    check(process);
}

std::int64_t Devices::limit_of(const DeviceState& device) const {
    return device.memory_limit >= 0 ? device.memory_limit : machine_.settings.device_memory;
}

int Devices::allocate(Process& process, std::int64_t bytes, int index) {
    check(process);
    if (index < 0 || index >= per_node_) index = bind(process);
    DeviceState& device = at(process.node, index);
    const std::int64_t total = limit_of(device);
    const std::int64_t free = std::max<std::int64_t>(0, total - device.used);
    if (bytes > free) {
        Recorder& recorder = machine_.recorder;
        recorder.record(process.id,
                        results::MemoryOom{
                            bytes, free, recorder.text(scenarios::enum_name(results::MemoryPlace::device))});
        throw OutOfMemory(fmt::format(
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {}. GPU {} has a total capacity "
            "of "
            "{} of which {} is free. Including non-PyTorch memory, this process has {} memory in use.",
            memory_text(bytes), index, memory_text(total), memory_text(free), memory_text(device.used)));
    }
    device.used += bytes;
    device.peak = std::max(device.peak, device.used);
    return index;
}

void Devices::step(Process& process) {
    DeviceState& device = of(process);
    if (device.leak_per_step > 0) allocate(process, device.leak_per_step);
}

void Devices::change(Process& process, const DeviceChange& change) {
    const int index = process.device >= 0 ? process.device : process.local;
    DeviceState& device = at(process.node, index);
    device.slow_permille = std::max<std::int64_t>(1, change.slow_permille.value_or(device.slow_permille));
    device.memory_limit = change.memory_limit.value_or(device.memory_limit);
    device.leak_per_step = change.leak_per_step.value_or(device.leak_per_step);
    device.throttle = change.throttle.value_or(device.throttle);
    device.ecc_corrected += change.ecc_corrected;
    device.ecc_uncorrected += change.ecc_uncorrected;
    const bool falls = change.off_bus.value_or(false) && !device.off_bus;
    device.off_bus = change.off_bus.value_or(device.off_bus);
    if (asks_for_service(change.xid)) device.service_xid = change.xid;
    if (change.xid != 0) {
        report(process, index, change.xid);
    } else if (falls) {
        report(process, index, 79);
    }
}

// A line of the node's kernel log belongs to no rank, but it names the process.
void Devices::report(const Process& process, int device, int xid) {
    Recorder& recorder = machine_.recorder;
    const std::string line = fmt::format(
        "{} kernel: NVRM: Xid (PCI:0000:{:02x}:00): {}, pid={}, name=python, {}",
        machine_.topology.host_name(process.node), bus_id(device) >> 12, xid, process.pid, xid_words(xid));
    recorder.record(no_rank, results::DeviceError{xid, recorder.text(line)});
}

void Devices::process_gone(const Process& process) {
    if (process.device < 0) return;
    DeviceState& device = at(process.node, process.device);
    const Rank first = static_cast<Rank>(process.node) * per_node_;
    const Rank end = std::min<Rank>(first + per_node_, machine_.processes.count());
    for (Rank id = first; id < end; ++id) {
        const Process& other = machine_.processes[id];
        if (other.alive && other.device == process.device) return;
    }
    device.used = 0;
}

void Devices::replace(int node) {
    DeviceState fresh;
    fresh.sampled_at = machine_.engine.now();
    for (DeviceState& device : nodes_[static_cast<std::size_t>(node)]) device = fresh;
}

std::string memory_text(std::int64_t bytes) {
    const auto scaled = [&](std::int64_t unit, const char* name) {
        const std::int64_t hundredths = bytes / unit * 100 + bytes % unit * 100 / unit;
        return fmt::format("{}.{:02} {}", hundredths / 100, hundredths % 100, name);
    };
    if (bytes >= std::int64_t{1} << 30) return scaled(std::int64_t{1} << 30, "GiB");
    if (bytes >= 1 << 20) return scaled(1 << 20, "MiB");
    if (bytes >= 1 << 10) return scaled(1 << 10, "KiB");
    return fmt::format("{} bytes", bytes);
}

}  // namespace deadrank::sim
