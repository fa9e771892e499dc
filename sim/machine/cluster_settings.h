// sim/machine/cluster_settings.h — What a simulated cluster is made of. Plain values; the code that builds
// the cluster fills them from a plan. Units: nanoseconds, bytes, bits per second; ppb = parts per billion.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "results/record/time.h"
#include "scenarios/model/cluster_choices.h"

namespace deadrank::sim {

using results::Rank;
using results::Time;

using scenarios::LauncherKind;
using scenarios::LibraryKind;
using scenarios::StoreLife;
using scenarios::TopologyKind;

struct ClusterSettings {
    int nodes = 2;
    int gpus_per_node = 4;
    Rank ranks = 0;  // 0 = nodes × gpus_per_node; fewer leave the last devices idle

    TopologyKind topology = TopologyKind::single_switch;
    int nodes_per_leaf = 4;
    Time link_latency{5'000};
    std::int64_t link_bandwidth = 100'000'000'000;
    Time nvlink_latency{2'000};
    std::int64_t nvlink_bandwidth = 2'400'000'000'000;

    std::int64_t device_memory = std::int64_t{80} << 30;
    std::int64_t host_memory = std::int64_t{512} << 30;
    std::int64_t shared_memory = std::int64_t{64} << 30;
    std::int64_t open_files = 65'536;
    std::int64_t disk = std::int64_t{1} << 40;
    std::int64_t storage_bandwidth = 16'000'000'000;
    Time storage_latency{1'000'000};

    std::map<std::string, std::string> versions = {
        {"nccl", "2.28.9"}, {"torch", "2.11.0"}, {"cuda", "13.0"}, {"driver", "580.65"}, {"python", "3.11"}};
    std::map<std::string, std::string> environment = {};
    std::vector<std::string> interfaces = {"eth0"};  // routable ones, on every node; "none": not even lo
    std::map<std::string, std::vector<std::string>> node_interfaces = {};  // by host name, where they differ
    bool rdma = true;       // nodes have cards for it; without them links carry what sockets reach
    bool gpudirect = true;  // those cards read and write device memory themselves
    int gid_index = -1;     // RoCE: of the GID that leads to other nodes; -1 = InfiniBand, which needs none
    int nics = 0;           // such cards of a node; 0 = one, on rails one for each device

    LibraryKind library = LibraryKind::nccl;  // of collectives and messages
    LauncherKind launcher = LauncherKind::torchrun;
    bool hides_failures = false;           // the program that spawned the ranks catches what mp.spawn raises
    Time monitor_interval{5'000'000'000};  // how often torchrun's agents check their children
    int restarts_max = 0;                  // of the job; with `replicas` of each process
    int spare_nodes = 0;                   // take the places of lost ones at a restart
    Time health_check{0};                  // how often nodes are checked; 0 = never, not even at a restart
    Time requeue_after{0};                 // from a preemption to the next start; 0 = never
    int nodes_min = 0;                     // with as few torchrun's agents go on; 0 = all are needed
    Time node_returns_after{0};            // a lost node is back then; 0 = never
    bool agents_count_restarts = false;    // each those of its own ranks, not those of the job
    StoreLife store = StoreLife::rank;
    bool agent_keeps_store = false;      // through an attempt: it goes with node 0, not with rank 0
    std::string run_id = "none";         // of the job, in a store that outlives its ranks
    Time test_timeout{100'000'000'000};  // how long a test waits for its processes
    bool watchdog = true;
    Time collective_timeout{600'000'000'000};
    Time store_timeout{300'000'000'000};
    bool debug_detail = false;  // TORCH_DISTRIBUTED_DEBUG=DETAIL
    Time clock_offset{0};       // each node's clock is off by at most that, either way
    std::int64_t clock_drift_ppb = 0;
    Time time_limit{86'400'000'000'000};
    Time observe{120'000'000'000};  // how long an observer keeps looking at ranks that are stuck

    // Ranks that are played one by one, spread over the job, beside those that are `apart`. All others are a
    // crowd: they do the same at the same times, and one fiber plays for them. 0 = no crowd.
    Rank individuals = 0;
    std::vector<Rank> apart = {};

    std::string job = "train.py";  // what the launcher says it runs

    Rank process_count() const { return ranks > 0 ? ranks : static_cast<Rank>(nodes * gpus_per_node); }
};

}  // namespace deadrank::sim
