// runners/backends/sim/sim_levers.h — The levers of the simulated cluster, and of the call in progress in it.
// Bends and skipped blocks are kept here; the cluster asks for them at every seam and block of an armed rank.
#pragma once

#include <functional>
#include <map>

#include "inject/core/levers.h"
#include "sim/cluster/cluster.h"
#include "sim/machine/call.h"

namespace deadrank::runners {

using inject::Done;
using results::Rank;
using scenarios::Result;

// Lets a rank run another text of the program, from its next process on. Error: the patch does not apply.
using PatchRank = std::function<Result<Done>(Rank rank, std::string_view patch)>;

class SimLevers final : public inject::LeversOf<SimLevers> {
public:
    // `patch`: empty where ranks run no text.
    explicit SimLevers(sim::Cluster& cluster, PatchRank patch = {})
        : cluster_(cluster), patch_(std::move(patch)) {}

    // The call that alterations reach; nullptr between calls.
    void under_way(sim::Call* call) { call_ = call; }

    // Bends the value of a seam, or skips a block.
    void shape(sim::Call& call);
    bool shapes(Rank rank) const { return bent_.count(rank) > 0; }

    Rank ranks() const override { return cluster_.processes(); }
    int node_of(Rank rank) const override { return cluster_.node_of(rank); }
    std::vector<Rank> ranks_of(int node) const override { return cluster_.processes_of(node); }
    std::optional<bool> was_requested(const inject::Subject& subject) const override;

    Result<Done> carry_out(const inject::SetEnv& pull);
    Result<Done> carry_out(const inject::UnsetEnv& pull);
    Result<Done> carry_out(const inject::SetVersion& pull);
    Result<Done> carry_out(const inject::SwapRanks& pull);
    Result<Done> carry_out(const inject::PatchProgram& pull);
    Result<Done> carry_out(const inject::BreakPackage& pull);
    Result<Done> carry_out(const inject::TakePort& pull);
    Result<Done> carry_out(const inject::BreakName& pull);
    Result<Done> carry_out(const inject::ShareStore& pull);
    Result<Done> carry_out(const inject::AddInterface& pull);
    Result<Done> carry_out(const inject::RenameInterface& pull);
    Result<Done> carry_out(const inject::Kill& pull);
    Result<Done> carry_out(const inject::Exit& pull);
    Result<Done> carry_out(const inject::Stop& pull);
    Result<Done> carry_out(const inject::Resume& pull);
    Result<Done> carry_out(const inject::ChangeDevice& pull);
    Result<Done> carry_out(const inject::ChangeHost& pull);
    Result<Done> carry_out(const inject::ChangeLink& pull);
    Result<Done> carry_out(const inject::ChangeStorage& pull);
    Result<Done> carry_out(const inject::ChangeStore& pull);
    Result<Done> carry_out(const inject::Preempt& pull);
    Result<Done> carry_out(const inject::AlterCall& pull);
    Result<Done> carry_out(const inject::BendValue& pull);
    Result<Done> carry_out(const inject::Unbend& pull);
    Result<Done> carry_out(const inject::SkipBlock& pull);
    Result<Done> carry_out(const inject::CheckValue& pull);

private:
    tl::unexpected<scenarios::Error> missing(const inject::Lever& lever) const override;
    Result<Done> on_rank(Rank rank) const;
    Result<Done> on_process(Rank rank) const;  // it must be alive
    Result<Done> on_node(int node) const;
    sim::BentPoints& points_of(Rank rank);

    sim::Cluster& cluster_;
    PatchRank patch_;
    sim::Call* call_ = nullptr;
    std::map<Rank, sim::BentPoints> bent_;
};

}  // namespace deadrank::runners
