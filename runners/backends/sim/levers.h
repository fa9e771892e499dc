// runners/backends/sim/levers.h — The levers of the simulated cluster, and of the call that is under way in
// it. Bends and left-out blocks are kept here: the cluster only asks, at every seam and block of an armed
// rank.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "inject/core/levers.h"
#include "sim/cluster/cluster.h"
#include "sim/machine/call.h"

namespace deadrank::runners {

using inject::Done;
using results::Rank;
using scenarios::Result;

class SimLevers final : public inject::Levers {
public:
    explicit SimLevers(sim::Cluster& cluster) : cluster_(cluster) {}

    // The call that alterations reach; nullptr between calls.
    void under_way(sim::Call* call) { call_ = call; }

    // Bends the value of a seam, leaves out a block.
    void shape(sim::Call& call) const;
    bool shapes(Rank rank) const { return shaped_.count(rank) > 0; }

    Rank ranks() const override { return cluster_.processes(); }
    int node_of(Rank rank) const override { return cluster_.node_of(rank); }
    std::vector<Rank> ranks_of(int node) const override { return cluster_.processes_of(node); }

    Result<Done> set_env(Rank rank, std::string_view name, std::string_view value) override;
    Result<Done> unset_env(Rank rank, std::string_view name) override;
    Result<Done> set_version(Rank rank, std::string_view package, std::string_view version) override;
    Result<Done> swap_ranks(Rank a, Rank b) override;
    Result<Done> break_package(Rank rank, std::string_view package, std::string_view problem) override;
    Result<Done> take_port(int node, std::string_view port, bool mute) override;
    Result<Done> break_name(Rank rank, std::string_view host, std::string_view how) override;
    Result<Done> add_interface(int node, std::string_view name, bool routable, bool sorts_first) override;
    Result<Done> kill(Rank rank, int signal) override;
    Result<Done> exit(Rank rank, int code, std::string_view says) override;
    Result<Done> stop(Rank rank) override;
    Result<Done> resume(Rank rank) override;
    Result<Done> change_device(Rank rank, const inject::DeviceChange& change) override;
    Result<Done> change_host(int node, const inject::HostChange& change) override;
    Result<Done> change_link(const inject::LinkChange& change) override;
    Result<Done> change_storage(const inject::StorageChange& change) override;
    Result<Done> change_store(Rank rank, const inject::StoreChange& change) override;
    Result<Done> preempt(std::string_view reason) override;
    Result<Done> alter_call(Rank rank, const inject::Alteration& alteration) override;
    Result<Done> bend(Rank rank, std::string_view seam, const inject::Bend& bend) override;
    Result<Done> unbend(Rank rank, std::string_view seam) override;
    Result<Done> skip_block(Rank rank, std::string_view block, bool skip) override;

private:
    // What one rank's program points answer instead of the truth.
    struct Shape {
        std::map<std::string, inject::Bend, std::less<>> bends;
        std::set<std::string, std::less<>> left_out;
    };
    Result<Done> on_rank(Rank rank) const;
    Result<Done> on_process(Rank rank) const;  // one that lives
    Result<Done> on_node(int node) const;
    Shape& shape_of(Rank rank);

    sim::Cluster& cluster_;
    sim::Call* call_ = nullptr;
    std::map<Rank, Shape> shaped_;
};

}  // namespace deadrank::runners
