// sim/machine/recorder.cpp — Everything that a rank, launcher or machine shows passes here: it is hashed into
// the trace, then goes to the sink; and the samples that exporters would scrape.
#include "sim/machine/recorder.h"

#include <algorithm>
#include <fmt/format.h>
#include <variant>

#include "sim/machine/machine.h"

namespace deadrank::sim {

void Recorder::record(Rank rank, const results::Payload& what) {
    std::visit([&](const auto& payload) { record(rank, payload); }, what);
}

void Recorder::log(Rank rank, int level, std::string_view line) {
    if (!closed_) record(rank, results::RankLog{level, text(line)});
}

// ── Plausible readings of a busy device; a throttled one shows lower clocks and the reason.

namespace {

constexpr std::int64_t every = 4;  // steps between two samples of a node
constexpr int full_clock_mhz = 1980;

}  // namespace

void Samples::step(Process& process) {
    Recorder& recorder = machine_.recorder;
    DeviceState& device = machine_.devices.of(process);
    const HostState& host = machine_.hosts[process.node];
    recorder.record(process.id, results::MemorySample{device.peak, machine_.devices.limit(process),
                                                      host.memory_used, host.memory_limit});
    device.peak = device.used;

    const Time now = machine_.engine.now();
    const Time span = now - device.sampled_at;
    const auto busy = span > Time{0} ? std::min<std::int64_t>(100, device.busy * 100 / span) : 0;
    device.busy = Time{0};
    device.sampled_at = now;
    results::DeviceSample sample;
    sample.clock_mhz =
        device.throttle == 0
            ? full_clock_mhz
            : static_cast<int>(full_clock_mhz * 1000 / std::max<std::int64_t>(device.slow_permille, 1500));
    sample.busy_percent = static_cast<int>(busy);
    const bool hot = (device.throttle & throttled_by_heat) != 0;
    sample.temperature = (hot ? 88 : 40) + static_cast<int>(busy) / 4 * (hot ? 0 : 1);
    sample.power_watts = 90 + static_cast<int>(busy) * 6;
    sample.throttle = device.throttle;
    sample.ecc_corrected = device.ecc_corrected;
    sample.ecc_uncorrected = device.ecc_uncorrected;
    recorder.record(process.id, sample);
    if (process.local == 0 && process.step % every == 0) node(process.node);
}

void Samples::node(int number) {
    Recorder& recorder = machine_.recorder;
    const HostState& host = machine_.hosts[number];
    const PortCounters& ports = machine_.network.ports(number);
    const std::string name = machine_.topology.host_name(number);
    const bool bare = host.interfaces.empty();
    const std::string port = machine_.settings.rdma ? "mlx5_0" : bare ? "none" : host.interfaces.front().name;
    recorder.record(no_rank,
                    results::LinkSample{recorder.text(name + " " + port), machine_.network.up(number) ? 1 : 0,
                                        ports.sent, ports.received, ports.errors, ports.retransmits});
    const Rank first = static_cast<Rank>(number) * machine_.settings.gpus_per_node;
    recorder.record(first, results::HostSample{host.shared_used, host.shared_limit, host.files_used,
                                               host.files_limit, machine_.files.free_bytes()});
}

}  // namespace deadrank::sim
