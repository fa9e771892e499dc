// sim/machine/device.h — A simulated GPU: its memory, its speed, its errors, and what the NVIDIA driver
// writes behind an Xid number in the kernel log.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

#include "results/record/changes.h"
#include "sim/machine/processes.h"
#include "sim/world/world.h"

namespace deadrank::sim {

// ── Accelerators: how fast they compute, what they hold, and what happens when one is throttled, full or
// gone.

using results::DeviceChange;

struct Machine;

inline constexpr int throttled_by_heat = 1, throttled_by_power = 2, throttled_by_hardware = 4;

struct DeviceState {
    std::int64_t slow_permille = 1000;
    std::int64_t memory_limit = -1;
    std::int64_t leak_per_step = 0;
    std::int64_t used = 0;
    std::int64_t peak = 0;  // the most of `used` since the last sample
    int throttle = 0;
    bool off_bus = false;
    int service_xid = 0;        // the last error that asks for a reset or a repair
    bool holds_kernel = false;  // one that never ends, even if its process does
    std::int64_t ecc_corrected = 0, ecc_uncorrected = 0;
    Time busy{0};  // computing, since the last sample
    Time sampled_at{0};
};

class Devices {
public:
    explicit Devices(Machine& machine);

    // The device that the process uses, by LOCAL_RANK and CUDA_VISIBLE_DEVICES as a training script reads
    // them.
    int bind(Process& process, bool by_place = false) {
        return process.device >= 0 ? process.device : choose(process, by_place);
    }
    void use(Process& process, std::int64_t wanted);  // throws where the process sees none of that number
    int count() const { return per_node_; }
    std::vector<int> shown(
        const Process& process) const;  // those that it sees, in the order of their numbers
    DeviceState& of(Process& process) { return at(process.node, bind(process)); }
    DeviceState& at(int node, int device) {
        std::vector<DeviceState>& there = nodes_[static_cast<std::size_t>(node)];
        if (there.empty()) there.resize(static_cast<std::size_t>(per_node_));
        return there[static_cast<std::size_t>(device)];
    }
    std::int64_t bus_id(int device) const;

    void check(Process& process) {  // throws when its device is gone
        if (of(process).off_bus) refuse();
    }
    void compute(Process& process, Time nominal);
    Time queue(Process& process, Time nominal);  // as compute(), beside the process
    // On `device` of its node, or on its own; says which. Throws OutOfMemory.
    int allocate(Process& process, std::int64_t bytes, int device = -1);
    std::int64_t limit(Process& process) { return limit_of(of(process)); }
    std::int64_t limit_of(const DeviceState& device) const;
    void step(Process& process);  // leaks
    void change(Process& process, const DeviceChange& change);
    void process_gone(const Process& process);
    void replace(int node);  // by those of a spare node

private:
    int choose(Process& process, bool by_place);
    [[noreturn]] static void refuse();
    void report(const Process& process, int device, int xid);

    Machine& machine_;
    int per_node_;
    std::vector<std::vector<DeviceState>> nodes_;  // empty where unused so far: a crowd is on many nodes
};

// One process's view, with handles for what it holds.
class RankDevice final : public Device {
public:
    RankDevice(Machine& machine, Process& process) : machine_(machine), process_(process) {}

    int index() const override;
    int count() const override;
    int visible() const override;
    int seen(int number) const override;
    int number() const override;
    void choose_by_place() override;
    void choose(int device) override;
    void compute(Time nominal) override;
    Time queue(Time nominal) override;
    Time clock() const override;
    std::int64_t allocate(std::int64_t bytes) override { return allocate_on(-1, bytes); }
    std::int64_t allocate_on(int device, std::int64_t bytes) override;
    void release(std::int64_t handle) override;
    std::int64_t used() const override;
    std::int64_t limit() const override;
    std::int64_t free_on(int device) const override;
    std::int64_t allocate_host(std::int64_t bytes, bool pinned) override;

private:
    struct Piece {
        std::int64_t bytes = 0;
        bool host = false;
        int device = -1;
    };

    Machine& machine_;
    Process& process_;
    std::vector<Piece> pieces_;  // handle - 1
};

std::string memory_text(std::int64_t bytes);  // 2.00 GiB, as torch writes it

// Errors after which NVIDIA's table of Xids asks to reset, drain or replace the device; the others are the
// program's.
inline bool asks_for_service(int xid) {
    constexpr int numbers[] = {48, 62, 64, 74, 79, 92, 94, 95, 119, 120, 140};
    return std::find(std::begin(numbers), std::end(numbers), xid) != std::end(numbers);
}

// What the NVIDIA driver writes behind an Xid number in the kernel log.
inline std::string_view xid_words(int xid) {
    switch (xid) {
        case 13:
            return "Graphics Exception: ESR 0x404600=0x80000002";
        case 31:
            return "Ch 00000010, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ "
                   "0x7f12_34560000. "
                   "Fault is of type FAULT_PDE ACCESS_TYPE_READ";
        case 43:
            return "Ch 00000010";
        case 45:
            return "Ch 00000010";
        case 48:
            return "An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer";
        case 62:
            return "PMU Halt Error";
        case 63:
            return "Row Remapper: New row marked for remapping, reset gpu to activate.";
        case 64:
            return "Row Remapper: Failed to remap row";
        case 74:
            return "NVLink: fatal error detected on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)";
        case 79:
            return "GPU has fallen off the bus.";
        case 94:
            return "Contained: SM (0x1). RST: No, D-RST: No";
        case 95:
            return "Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No";
        case 119:
            return "Timeout after 6s of waiting for RPC response from GPU GSP! Expected function 103 "
                   "(GSP_RM_ALLOC) (0x2081 0x4).";
        default:
            return "unknown";
    }
}

}  // namespace deadrank::sim
