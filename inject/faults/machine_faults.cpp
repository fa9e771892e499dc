// inject/faults/machine_faults.cpp — Faults of devices, hosts and their memory: each sets a state on all that
// it aims at, and sets the normal state to revert it.
#include "inject/core/fault.h"

namespace deadrank::inject {

namespace {

// On the device of each rank.
std::unique_ptr<Fault> make_device_fault(const FaultSpec& spec, const DeviceChange& broken,
                                         const DeviceChange& whole, std::string component = "gpu") {
    return make_simple_fault(spec, {.apply =
                                        [broken](Levers& levers, Rank rank) {
                                            return levers.pull(ChangeDevice{rank, broken});
                                        },
                                    .revert =
                                        [whole](Levers& levers, Rank rank) {
                                            (void)levers.pull(ChangeDevice{rank, whole});
                                        },
                                    .blame = aimed(spec, {.component = std::move(component)})});
}

// On each node of parameter `node`, or on the nodes of each rank where that is what the fault aims at.
std::unique_ptr<Fault> make_host_fault(const FaultSpec& spec, const HostChange& broken,
                                       const HostChange& whole, std::string component = "host") {
    const auto set = [nodes = nodes_of(spec)](Levers& levers, Rank rank, const HostChange& change) {
        if (rank >= 0) return levers.pull(ChangeHost{levers.node_of(rank), change});
        return for_each(nodes, [&](int node) { return levers.pull(ChangeHost{node, change}); });
    };
    return make_simple_fault(
        spec, {.apply = [set, broken](Levers& levers, Rank rank) { return set(levers, rank, broken); },
               .revert = [set, whole](Levers& levers, Rank rank) { (void)set(levers, rank, whole); },
               .blame = aimed(spec, {.component = std::move(component)})});
}

}  // namespace

// The device has less memory than the job was tuned for: a neighbour on the card, a smaller card.
extern const FaultRow limit_memory_row{
    {.name = "limit_memory",
     .what = "The device memory of these ranks is limited.",
     .parameters = {rank_parameter(), {"bytes", ValueType::bytes, "", "what there is", {}, false, 0}},
     .levers = {ChangeDevice::memory}},
    [](const FaultSpec& spec) {
        return make_device_fault(spec, {.memory_limit = spec.number("bytes")}, {.memory_limit = -1},
                                 "memory");
    }};

// Memory is taken at every step and never given back: a kept graph, a cache without a bound.
extern const FaultRow leak_memory_row{
    {.name = "leak_memory",
     .what = "Every step of these ranks leaves some memory behind.",
     .parameters = {rank_parameter(),
                    {"bytes", ValueType::bytes, "", "left behind by each step", {}, false, 1},
                    {"where",
                     ValueType::choice,
                     "device",
                     "memory of the device, or of the host for all ranks there",
                     {"device", "host"}}},
     .levers = {ChangeDevice::leak}},
    [](const FaultSpec& spec) {
        const std::int64_t bytes = spec.number("bytes");
        if (spec.text("where") == "host") {
            return make_host_fault(spec, {.leak_per_step = bytes}, {.leak_per_step = 0}, "memory");
        }
        return make_device_fault(spec, {.leak_per_step = bytes}, {.leak_per_step = 0}, "memory");
    }};

// A node grants less than the job needs: a container's shared memory, a memory limit, open files.
extern const FaultRow limit_host_row{
    {.name = "limit_host",
     .what = "Memory, shared memory, locked memory or open files of a node are limited.",
     .parameters = {node_parameter(),
                    {"host_memory", ValueType::bytes, "", "bytes of memory", {}, true, 0},
                    {"shared_memory", ValueType::bytes, "", "bytes of /dev/shm", {}, true, 0},
                    {"open_files", ValueType::integer, "", "open files of a process", {}, true, 0},
                    {"locked_memory",
                     ValueType::bytes,
                     "",
                     "bytes that a process may lock (ulimit -l), of which RDMA needs 16MiB",
                     {},
                     true,
                     0}},
     .levers = {ChangeHost::limits}},
    [](const FaultSpec& spec) {
        const auto given = [&](const std::string& name) {
            return spec.parameters.count(name) > 0 ? std::optional(spec.number(name)) : std::nullopt;
        };
        return make_host_fault(spec,
                               {.host_memory_limit = given("host_memory"),
                                .shared_memory_limit = given("shared_memory"),
                                .open_files_limit = given("open_files"),
                                .locked_memory_limit = given("locked_memory")},
                               {.host_memory_limit = -1,
                                .shared_memory_limit = -1,
                                .open_files_limit = -1,
                                .locked_memory_limit = -1});
    }};

// A firewall that lets the rendezvous through and nothing else: the library connects to ports of its own.
extern const FaultRow close_ports_row{
    {.name = "close_ports",
     .what = "A firewall keeps other nodes from every port of the node but that of the store.",
     .parameters = {node_parameter(),
                    {"how",
                     ValueType::choice,
                     "reject",
                     "a connection is answered with No route to host; nothing is answered",
                     {"reject", "drop"}}},
     .levers = {ChangeHost::firewall},
     .at_start = true},
    [](const FaultSpec& spec) {
        const bool drops = spec.text("how") == "drop";
        return make_host_fault(spec,
                               {.firewall = drops ? results::Firewall::drops : results::Firewall::rejects},
                               {.firewall = results::Firewall::open}, "firewall");
    }};

// GPUDirect is gone on a node: a kernel module that was not loaded, access control in its PCIe switches.
extern const FaultRow lose_gpudirect_row{
    {.name = "lose_gpudirect",
     .what = "The network cards of the node no longer reach the memory of its devices.",
     .parameters =
         {node_parameter(),
          {"how",
           ValueType::choice,
           "copied",
           "all data is copied through host memory, at half the bandwidth; PCIe access control turns "
           "the cards away, and their first transfer fails unless NCCL_NET_GDR_LEVEL is LOC or 0",
           {"copied", "blocked"}}},
     .levers = {ChangeHost::direct},
     .at_start = true},
    [](const FaultSpec& spec) {
        const bool blocked = spec.text("how") == "blocked";
        return make_host_fault(
            spec, {.direct = blocked ? results::DirectAccess::blocked : results::DirectAccess::copied},
            {.direct = results::DirectAccess::works}, "gpudirect");
    }};

// Peer access is announced and does not work: access control or an IOMMU between the devices' slots.
extern const FaultRow break_peer_access_row{
    {.name = "break_peer_access",
     .what = "Transfers between the devices of the node never end, unless NCCL_P2P_DISABLE is 1.",
     .parameters = {node_parameter()},
     .levers = {ChangeHost::peers},
     .at_start = true},
    [](const FaultSpec& spec) {
        return make_host_fault(spec, {.peers_stuck = true}, {.peers_stuck = false}, "p2p");
    }};

// A device reports an error to the kernel log, and may be unusable from then on. `xid` as NVIDIA numbers
// them: 48 double-bit ECC, 74 NVLink, 79 off the bus, 94 contained ECC, 119 GSP time-out.
extern const FaultRow device_fault_row{
    {.name = "device_fault",
     .what = "The device reports an XID error.",
     .parameters =
         {rank_parameter(),
          {"xid", ValueType::integer, "79", "number of the error in the kernel log", {}, false, 1},
          {"fatal", ValueType::boolean, "true", "every later call on the device fails"},
          {"ecc", ValueType::integer, "0", "uncorrected memory errors counted with it", {}, false, 0}},
     .levers = {ChangeDevice::fault}},
    [](const FaultSpec& spec) {
        DeviceChange broken{.xid = static_cast<int>(spec.number("xid")),
                            .ecc_uncorrected = spec.number("ecc")};
        if (spec.number("fatal") != 0) broken.off_bus = true;
        return make_device_fault(spec, broken, {.off_bus = false});
    }};

// A device runs below its clock and says so: too hot, too little power, a power brake.
extern const FaultRow throttle_device_row{
    {.name = "throttle_device",
     .what = "The device slows down and reports why.",
     .parameters =
         {rank_parameter(),
          {"why", ValueType::choice, "thermal", "what the device reports", {"thermal", "power", "hardware"}},
          {"factor", ValueType::factor, "1.5x", "how many times as long everything takes", {}, false, 1}},
     .levers = {ChangeDevice::slow}},
    [](const FaultSpec& spec) {
        const std::string why = spec.text("why");
        const int bits = why == "thermal" ? 1 : why == "power" ? 2 : 4;  // as device.sample has them
        return make_device_fault(spec, {.slow_permille = spec.number("factor"), .throttle = bits},
                                 {.slow_permille = 1000, .throttle = 0});
    }};

// A node's clock is wrong: no time server, a jump after a suspend. Time-outs and log times lie.
extern const FaultRow shift_clock_row{
    {.name = "shift_clock",
     .what = "A node's clock jumps, or drifts.",
     .parameters = {node_parameter(),
                    {"by", ValueType::duration, "0s", "how far it jumps ahead"},
                    {"drift", ValueType::ratio, "0", "how much too fast it runs from then on"}},
     .levers = {ChangeHost::clock}},
    [](const FaultSpec& spec) {
        const Time by = duration(spec, "by");
        return make_host_fault(spec, {.clock_drift_ppb = spec.number("drift"), .clock_step = by},
                               {.clock_drift_ppb = 0, .clock_step = -by}, "clock");
    }};

// A whole node is gone at once: power, kernel panic, the operator. Not even its launcher can report it.
extern const FaultRow lose_node_row{
    {.name = "lose_node",
     .what = "The node and everything on it is lost.",
     .parameters = {node_parameter()},
     .levers = {ChangeHost::down}},
    [](const FaultSpec& spec) { return make_host_fault(spec, {.down = true}, {}, "node"); }};

// A rank computes slowly and nothing reports why: a bad card, a noisy neighbour. All peers wait for it.
extern const FaultRow slow_rank_row{
    {.name = "slow_rank",
     .what = "Everything the rank computes takes longer.",
     .parameters = {rank_parameter(),
                    {"factor", ValueType::factor, "2x", "how many times as long", {}, false, 1}},
     .levers = {ChangeDevice::slow}},
    [](const FaultSpec& spec) {
        return make_device_fault(spec, {.slow_permille = spec.number("factor")}, {.slow_permille = 1000});
    }};

}  // namespace deadrank::inject
