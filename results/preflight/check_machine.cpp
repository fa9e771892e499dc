// results/preflight/check_machine.cpp — Interfaces, the rendezvous, devices and limits: what only the machine
// knows. What was not queried is not judged.
#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "results/preflight/checks.h"

namespace deadrank::results::preflight {

namespace {

constexpr std::int64_t megabyte = 1 << 20;

// NCCL's filter: "^" excludes, "=" matches the whole name, otherwise names are prefixes. gloo takes whole
// names.
bool matches_filter(std::string_view filter, std::string_view name) {
    const bool excludes = filter.starts_with('^');
    if (excludes) filter.remove_prefix(1);
    const bool exact = filter.starts_with('=');
    if (exact) filter.remove_prefix(1);
    bool named = false;
    while (!filter.empty()) {
        const std::string_view one = filter.substr(0, filter.find(','));
        filter.remove_prefix(std::min(filter.size(), one.size() + 1));
        named = named || (!one.empty() && (exact ? name == one : name.starts_with(one)));
    }
    return named != excludes;
}

bool is_virtual(std::string_view name) {
    for (const std::string_view beginning :
         {"docker", "veth", "cali", "br-", "virbr", "cni", "flannel", "tun"}) {
        if (name.starts_with(beginning)) return true;
    }
    return false;
}

void check_filter(const Job& job, std::string_view variable, Remarks& remarks) {
    const auto without = processes_where(job, [&](const Snapshot& one) {
        if (!one.has(variable) || one.interfaces.empty()) return false;
        return std::none_of(one.interfaces.begin(), one.interfaces.end(), [&](const Interface& interface) {
            return interface.up && interface.address &&
                   matches_filter(one.variable(variable), interface.name);
        });
    });
    if (without.empty()) return;
    const Snapshot& first = job[without.front()];
    std::string names;
    for (const Interface& interface : first.interfaces) {
        if (interface.up && interface.address) names += (names.empty() ? "" : ", ") + interface.name;
    }
    remarks.push_back({.weight = Weight::error,
                       .processes = without,
                       .subject = std::string(variable),
                       .says = fmt::format("{}='{}' fits no interface of {} that is up and has an address",
                                           variable, first.variable(variable), first.host),
                       .remedy = fmt::format("there are: {}", names),
                       .source = "NCCL: 'no socket interface found' on that rank alone; its peers hang"});
}

// Without a filter the first interface that is neither loopback nor docker is taken, in the system's order.
std::string chosen_on(const Snapshot& one) {
    for (const Interface& interface : one.interfaces) {
        if (interface.up && interface.address && !interface.loopback && !interface.name.starts_with("docker"))
            return interface.name;
    }
    return {};
}

}  // namespace

void check_interfaces(const Job& job, const Knowledge&, Remarks& remarks) {
    for (const std::string_view variable : {"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"})
        check_filter(job, variable, remarks);
    std::set<std::string> hosts;
    for (const Snapshot& one : job) hosts.insert(one.host);
    if (hosts.size() < 2) return;
    const auto by_chance = processes_where(job, [](const Snapshot& one) {
        return !one.has("NCCL_SOCKET_IFNAME") && is_virtual(chosen_on(one));
    });
    if (by_chance.empty()) return;
    const Snapshot& first = job[by_chance.front()];
    remarks.push_back(
        {.weight = Weight::error,
         .processes = by_chance,
         .subject = "NCCL_SOCKET_IFNAME",
         .says = fmt::format("without NCCL_SOCKET_IFNAME {} takes {}, a virtual interface that other "
                             "hosts may not reach",
                             first.host, chosen_on(first)),
         .remedy = "name the interface, or filter virtual ones: NCCL_SOCKET_IFNAME=^docker,veth,cali",
         .source = "NCCL user guide, NCCL_SOCKET_IFNAME"});
}

void check_master(const Job& job, const Knowledge&, Remarks& remarks) {
    const auto add_error = [&](std::vector<std::size_t> processes, const char* subject, std::string says,
                               std::string remedy) {
        if (processes.empty()) return;
        remarks.push_back({Weight::error, "", std::move(processes), subject, std::move(says),
                           std::move(remedy), "c10d's env:// rendezvous"});
    };
    const auto lost = processes_where(job, [](const Snapshot& one) { return one.master_resolves == false; });
    if (!lost.empty())
        add_error(
            lost, "MASTER_ADDR",
            fmt::format("MASTER_ADDR='{}' has no address here", job[lost.front()].variable("MASTER_ADDR")),
            "use an address, or a name that every host resolves");
    const auto taken =
        processes_where(job, [](const Snapshot& one) { return one.master_port_taken == true; });
    if (!taken.empty())
        add_error(
            taken, "MASTER_PORT",
            fmt::format("port {} is taken by another program", job[taken.front()].variable("MASTER_PORT")),
            "choose a free port, or end the job that was left behind");
    std::set<std::string> hosts;
    for (const Snapshot& one : job) hosts.insert(one.host);
    if (hosts.size() < 2) return;
    const auto loopback = processes_where(job, [](const Snapshot& one) {
        const auto address = one.variable("MASTER_ADDR");
        return address == "localhost" || address.starts_with("127.") || address == "::1";
    });
    if (!loopback.empty())
        add_error(loopback, "MASTER_ADDR",
                  fmt::format("MASTER_ADDR='{}' means another machine on each of {} hosts",
                              job[loopback.front()].variable("MASTER_ADDR"), hosts.size()),
                  "name the first host's address on the network");
}

void check_devices(const Job& job, const Knowledge&, Remarks& remarks) {
    const auto without = processes_where(job, [](const Snapshot& one) {
        const auto local = integer_in(one.variable("LOCAL_RANK"));
        if (!local || one.gpus.value_or(0) == 0) return false;
        std::int64_t devices = *one.gpus;
        if (one.has("CUDA_VISIBLE_DEVICES")) {
            const auto listed = one.variable("CUDA_VISIBLE_DEVICES");
            devices = listed.empty() ? 0 : 1 + std::count(listed.begin(), listed.end(), ',');
            // The launcher chose one device per process: then every local rank uses index 0.
            if (devices == 1) return false;
        }
        return *local >= devices;
    });
    if (without.empty()) return;
    remarks.push_back(
        {Weight::error, "", without, "LOCAL_RANK",
         fmt::format("LOCAL_RANK={} has no device", job[without.front()].variable("LOCAL_RANK")),
         "start as many processes on a host as it has devices",
         "cudaSetDevice refuses an index that does not exist"});
}

void check_limits(const Job& job, const Knowledge&, Remarks& remarks) {
    if (!is_distributed(job)) return;
    const auto small = processes_where(job, [](const Snapshot& one) {
        const auto local = integer_in(one.variable("LOCAL_WORLD_SIZE")).value_or(1);
        return one.shared_memory && local > 1 && *one.shared_memory < 64 * megabyte * local;
    });
    if (!small.empty())
        remarks.push_back({Weight::warning, "", small, "/dev/shm",
                           fmt::format("{} MiB are free in /dev/shm for {} ranks",
                                       *job[small.front()].shared_memory / megabyte,
                                       job[small.front()].variable("LOCAL_WORLD_SIZE")),
                           "start the container with --shm-size=1g or --ipc=host",
                           "NCCL troubleshooting guide, shared memory"});
    const auto few =
        processes_where(job, [](const Snapshot& one) { return one.open_files.value_or(4096) < 1024; });
    if (!few.empty())
        remarks.push_back({Weight::warning, "", few, "open files",
                           fmt::format("only {} files may be open", *job[few.front()].open_files),
                           "raise it: ulimit -n 65536",
                           "each connection and each data worker costs file descriptors"});
}

}  // namespace deadrank::results::preflight
