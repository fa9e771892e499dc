// runners/backends/ranks/rank_levers.h — The levers of a job of our own rank programs, and why some do not
// work in an MPI job or a GPU job.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inject/core/levers.h"
#include "sim/machine/call.h"

namespace deadrank::runners {

// ── The levers of one of our real ranks. They only note what its world must do, and refuse what its backend
// cannot. Each rank has its own, and the harness has one for dry runs.

// What happens to this rank's process once the truth is on disk.
struct RealEnd {
    enum class How { none, killed, exits, stops, preempted };
    How how = How::none;
    int number = 0;  // signal or exit code
    std::string says;
};

struct RealState {
    std::map<std::string, std::optional<std::string>, std::less<>> environment;  // nullopt = unset
    std::map<std::string, std::string, std::less<>> versions;                    // that it claims to have
    std::optional<inject::Rank> claims;  // what RANK says instead of its own number
    std::int64_t slow_permille = 1000;
    std::int64_t memory_limit = -1;              // bytes of the device; -1 = what it has
    std::int64_t leak_per_step = 0;              // bytes of the device
    std::vector<inject::StorageChange> storage;  // in order; emptied when carried out
    RealEnd end;
    sim::BentPoints bent;
};

// What the levers of one backend reach, and the reasons where they do not.
struct Reach {
    std::string_view job;                                 // "an MPI job"
    std::map<std::string_view, std::string_view> lacked;  // levers by name, and why it lacks them
    std::string_view packages;   // why a rank cannot claim versions of other packages
    std::string_view claimed;    // a package whose version a rank can claim; empty = none
    std::string_view variables;  // why NCCL's have no effect; empty = they have
    std::vector<std::string_view> understood = {};  // those of NCCL's that have one all the same
    std::string_view claim_obstacle = {};           // why a claim reaches no peer; empty = it does
    std::vector<std::string> releases = {};         // of `claimed`, those that can really be loaded
};

class RealLevers final : public inject::LeversOf<RealLevers> {
public:
    using Rank = inject::Rank;
    using Answer = inject::Result<inject::Done>;

    // `own`: the rank whose world this is; no_rank = a dry run.
    RealLevers(const Reach& reach, Rank ranks, Rank ranks_per_node, Rank own);

    RealState& state() { return state_; }
    void starting(bool yes) { starting_ = yes; }
    void under_way(sim::Call* call) { call_ = call; }
    void shape(sim::Call& call) { state_.bent.shape(call); }

    static std::vector<std::string> names(const Reach& reach);  // for Capabilities

    Rank ranks() const override { return ranks_; }
    int node_of(Rank rank) const override { return rank / ranks_per_node_; }
    Answer carry_out(const inject::SetEnv& pull);
    Answer carry_out(const inject::UnsetEnv& pull);
    Answer carry_out(const inject::SetVersion& pull);
    Answer carry_out(const inject::SwapRanks& pull);
    Answer carry_out(const inject::Kill& pull);
    Answer carry_out(const inject::Exit& pull);
    Answer carry_out(const inject::Stop& pull);
    Answer carry_out(const inject::Resume& pull);
    Answer carry_out(const inject::ChangeDevice& pull);
    Answer carry_out(const inject::ChangeStorage& pull);
    Answer carry_out(const inject::Preempt& pull);
    Answer carry_out(const inject::AlterCall& pull);
    Answer carry_out(const inject::BendValue& pull);
    Answer carry_out(const inject::Unbend& pull);
    Answer carry_out(const inject::SkipBlock& pull);

private:
    bool ignores(std::string_view variable) const;
    // Whether `rank` is this process. At the start and in a dry run, pulls for other ranks are ignored.
    inject::Result<bool> means_us(Rank rank) const;
    Answer end_with(Rank rank, RealEnd end);

    tl::unexpected<scenarios::Error> missing(const inject::Lever& lever) const override;
    tl::unexpected<scenarios::Error> missing(std::string_view what, std::string_view why) const;
    bool lacks(const inject::Lever& lever) const { return reach_.lacked.contains(lever.name); }

    Reach reach_;
    Rank ranks_, ranks_per_node_, own_;
    bool starting_ = false;
    sim::Call* call_ = nullptr;
    RealState state_;
};

// What the levers of a GPU job do not reach, and why.
// `standin`: NCCL and CUDA are this project's own, for machines without GPUs.
inline Reach gpu_reach(bool standin) {
    return {.job = "a GPU job",
            .lacked = {{inject::ChangeLink::lever.name,
                        "its ranks are on one machine, and its network is the machine's own"},
                       {inject::TakePort::lever.name, "NCCL chooses those itself"},
                       {inject::ChangeDevice::fault.name, "real devices are not broken on purpose"}},
            .packages = "of its packages only NCCL tells the others its version",
            .claimed = "nccl",
            .variables = standin ? "the drop-in for NCCL reads none but NCCL_DEBUG and NCCL_HOSTID" : "",
            .understood = {"NCCL_DEBUG", "NCCL_HOSTID"}};
}

// What the levers of an MPI job do not reach, and why.
inline Reach mpi_reach() {
    return {.job = "an MPI job",
            .lacked = {{inject::ChangeLink::lever.name, "its ranks meet in shared memory"},
                       {inject::TakePort::lever.name, "mpirun chooses those itself"},
                       {inject::ChangeDevice::fault.name, "there is none"},
                       {inject::ChangeDevice::leak.name, "there is none"},
                       {inject::ChangeDevice::memory.name, "there is none"},
                       {inject::AlterCall::operation.name, "MPI would read beyond its buffers"}},
            .packages = "all of its ranks are one program",
            .claimed = {},
            .variables = "Open MPI reads no variable of NCCL"};
}

}  // namespace deadrank::runners
