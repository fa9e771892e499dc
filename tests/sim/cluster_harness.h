// tests/sim/cluster_harness.h — A small cluster, a lambda as the training script, and what came of both.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "results/record/evidence.h"
#include "sim/cluster/cluster.h"
#include "sim/engine/stage.h"

namespace deadrank::sim {

struct Trial {
    RunResult result;
    results::Evidence evidence;

    // Lines that a rank logged (no_rank: the launcher), and all texts of them joined.
    std::vector<std::string> lines(Rank rank) const;
    bool says(Rank rank, const std::string& words) const;
    template <class P>
    std::vector<P> of(Rank rank) const {
        std::vector<P> found;
        for (const results::Event& event : evidence.events()) {
            if (event.rank == rank && event.as<P>()) found.push_back(*event.as<P>());
        }
        return found;
    }
    template <class P>
    std::vector<Time> times(Rank rank) const {
        std::vector<Time> found;
        for (const results::Event& event : evidence.events()) {
            if (event.rank == rank && event.as<P>()) found.push_back(event.at);
        }
        return found;
    }
};

ClusterSettings bare(int nodes, int gpus_per_node);  // no launcher and no watchdog that would end a hang

using Script = std::function<void(World&)>;
using Setup = std::function<void(Cluster&)>;

Trial play(const ClusterSettings& settings, const Script& script, const Setup& setup = {},
           std::uint64_t seed = 1);

// The communicator of all processes, without a store.
std::unique_ptr<Comm> everybody(World& world, const std::string& name = "world");

// One all-reduce of ones over all processes; a wrong sum fails the rank.
constexpr int summed_numbers = 1 << 20;  // 4 MiB of f32
void sum(World& world);

// Alters the n-th call of one kind by one rank.
class AlterCall final : public Interceptor {
public:
    AlterCall(CallKind kind, std::function<void(Call&)> alter, int nth = 1)
        : kind_(kind), alter_(std::move(alter)), nth_(nth) {}
    void before(Call& call) override {
        if (call.kind == kind_ && ++seen_ == nth_) alter_(call);
    }

private:
    CallKind kind_;
    std::function<void(Call&)> alter_;
    int nth_;
    int seen_ = 0;
};

Setup altering(Interceptor& interceptor, Rank rank);

}  // namespace deadrank::sim
