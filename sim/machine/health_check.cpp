// sim/machine/health_check.cpp — Looks at what a real machine shows: never at what was injected.
#include "sim/machine/health_check.h"

#include <fmt/format.h>

#include "sim/machine/machine.h"

namespace deadrank::sim {

namespace {

constexpr int carrier_losses_allowed = 1;

std::string defect_of(const DeviceState& device) {
    if (device.off_bus) return "is not on the bus";
    if (device.service_xid != 0) return fmt::format("Xid {}", device.service_xid);
    if (device.ecc_uncorrected > 0) return fmt::format("{} uncorrected ECC errors", device.ecc_uncorrected);
    if (device.holds_kernel) return "a kernel of a process that is gone still runs";
    if ((device.throttle & throttled_by_heat) != 0) return "its clocks are lowered, it is too hot";
    if ((device.throttle & throttled_by_hardware) != 0) return "its clocks are lowered by the hardware";
    return {};
}

std::string defect_of(Machine& machine, int node, bool job_has_ended) {
    for (int device = 0; device < machine.settings.gpus_per_node; ++device) {
        const DeviceState& state = machine.devices.at(node, device);
        if (state.holds_kernel && !job_has_ended) continue;  // it may be a long one
        if (const std::string defect = defect_of(state); !defect.empty())
            return fmt::format("GPU {}: {}", device, defect);
    }
    const HostState& host = machine.hosts[node];
    if (host.disk_failed) return "its disk answers I/O errors";
    if (host.card_failed) return "its network card reports errors";
    if (job_has_ended && !machine.network.has_carrier(node)) return "its port is down";
    if (const int losses = machine.network.carrier_losses(node); losses > carrier_losses_allowed)
        return fmt::format("its port went down {} times", losses);
    return {};
}

}  // namespace

std::vector<SickNode> sick_nodes(Machine& machine, bool job_has_ended) {
    std::vector<SickNode> sick;
    const bool checked = machine.settings.health_check > Time{0};
    for (int node = 0; node < machine.settings.nodes; ++node) {
        std::string finding;
        if (machine.hosts[node].down)
            finding = "it does not answer";
        else if (checked)
            finding = defect_of(machine, node, job_has_ended);
        if (!finding.empty()) sick.push_back({node, std::move(finding)});
    }
    return sick;
}

}  // namespace deadrank::sim
