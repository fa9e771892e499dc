// runners/backends/ranks/levers.h — The levers of a real rank of ours. They move nothing themselves: they
// note what its world is to do, and refuse what no process of its backend can. Each rank has its own, and the
// harness one on paper.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "inject/core/levers.h"
#include "sim/machine/call.h"

namespace deadrank::runners {

// What is to become of this rank's process, once the truth is on disk.
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
    std::vector<inject::StorageChange> storage;  // in order; whoever carries them out empties the list
    RealEnd end;
    std::map<std::string, inject::Bend, std::less<>> bends;
    std::set<std::string, std::less<>> left_out;
};

// What the levers of one backend reach, and its words where they do not.
struct Reach {
    std::string_view job;    // "an MPI job"
    std::string_view links;  // why it has no lever for them
    std::string_view ports;
    std::string_view devices;
    std::string_view memory;                        // of devices; empty = it can be limited
    std::string_view packages;                      // other versions of those that are not in `claimed`
    std::string_view claimed;                       // a package whose version a rank can claim; empty = none
    std::string_view variables;                     // why NCCL's mean nothing; empty = they do
    std::vector<std::string_view> understood = {};  // of NCCL's, those that mean something all the same
    std::string_view operations;                    // why none can be exchanged; empty = they can
    std::string_view unheard = {};                  // why a claim reaches no peer; empty = it does
    std::vector<std::string> releases = {};         // of `claimed`, those that need no claim: they are here
};

class RealLevers final : public inject::Levers {
public:
    using Rank = inject::Rank;
    using Answer = inject::Result<inject::Done>;

    // `own`: the rank whose world this is; no_rank = on paper only.
    RealLevers(const Reach& reach, Rank ranks, Rank ranks_per_node, Rank own);

    RealState& state() { return state_; }
    void starting(bool yes) { starting_ = yes; }
    void under_way(sim::Call* call) { call_ = call; }
    void shape(sim::Call& call) const;  // bends the value of a seam, leaves out a block

    static std::vector<std::string> names(const Reach& reach);  // for Capabilities

    Rank ranks() const override { return ranks_; }
    int node_of(Rank rank) const override { return rank / ranks_per_node_; }
    Answer set_env(Rank rank, std::string_view name, std::string_view value) override;
    Answer unset_env(Rank rank, std::string_view name) override;
    Answer set_version(Rank rank, std::string_view package, std::string_view version) override;
    Answer swap_ranks(Rank a, Rank b) override;
    Answer break_package(Rank rank, std::string_view package, std::string_view problem) override;
    Answer take_port(int node, std::string_view port, bool mute) override;
    Answer break_name(Rank rank, std::string_view host, std::string_view how) override;
    Answer add_interface(int node, std::string_view name, bool routable, bool sorts_first) override;
    Answer kill(Rank rank, int signal) override;
    Answer exit(Rank rank, int code, std::string_view says) override;
    Answer stop(Rank rank) override;
    Answer resume(Rank rank) override;
    Answer change_device(Rank rank, const inject::DeviceChange& change) override;
    Answer change_host(int node, const inject::HostChange& change) override;
    Answer change_store(Rank rank, const inject::StoreChange& change) override;
    Answer change_link(const inject::LinkChange& change) override;
    Answer change_storage(const inject::StorageChange& change) override;
    Answer preempt(std::string_view reason) override;
    Answer alter_call(Rank rank, const inject::Alteration& alteration) override;
    Answer bend(Rank rank, std::string_view seam, const inject::Bend& bend) override;
    Answer unbend(Rank rank, std::string_view seam) override;
    Answer skip_block(Rank rank, std::string_view block, bool skip) override;

private:
    bool ignores(std::string_view variable) const;
    // Does it mean this process? At the start, and on paper, what means another is that one's own affair.
    inject::Result<bool> means_us(Rank rank) const;
    Answer end_with(Rank rank, RealEnd end);

    tl::unexpected<scenarios::Error> missing(std::string_view what, std::string_view why) const;

    Reach reach_;
    Rank ranks_, ranks_per_node_, own_;
    bool starting_ = false;
    sim::Call* call_ = nullptr;
    RealState state_;
};

}  // namespace deadrank::runners
