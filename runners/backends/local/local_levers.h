// runners/backends/local/local_levers.h — The levers of real processes. Before the job starts they set what a
// rank will find; for later moments they are recorded, and the hook inside the rank pulls them when the
// moment comes.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "inject/core/levers.h"

namespace deadrank::runners {

// Settings for the start of one rank, on top of those of all ranks.
struct RankSetting {
    std::map<std::string, std::string> set;
    std::vector<std::string> unset;
    std::vector<std::string> path;  // directories searched for packages first
    std::string python;             // another interpreter; empty = the job's
};

// One lever for the hook to pull, as the JSON that it reads.
struct HookPull {
    inject::Rank rank = results::no_rank;
    std::string json;
};

class LocalLevers final : public inject::LeversOf<LocalLevers> {
public:
    LocalLevers(inject::Rank ranks, inject::Rank ranks_per_node, std::filesystem::path scratch);

    // The pulls since the last call. `starting`: the job has not started, so environments can still be set
    // directly.
    std::vector<HookPull> take();
    void starting(bool yes) { starting_ = yes; }

    const std::map<inject::Rank, RankSetting>& settings() const { return settings_; }
    // "package==version" → the directory of that release, which skew_version may give to a rank.
    void overlays(std::map<std::string, std::string> known) { overlays_ = std::move(known); }
    bool port_taken() const { return port_taken_; }
    bool port_mute() const { return port_mute_; }
    bool link_changed() const { return link_changed_; }
    bool storage_changed() const { return storage_changed_; }
    // Why nodes can have no network of their own; empty = they can.
    void network_missing(std::string why) { network_missing_ = std::move(why); }
    bool network_changed() const { return network_changed_; }
    const std::set<inject::Rank>& behind_proxy() const { return behind_proxy_; }

    static std::vector<std::string> names();  // for Capabilities

    using Answer = inject::Result<inject::Done>;
    using Rank = inject::Rank;
    Rank ranks() const override { return ranks_; }
    int node_of(Rank rank) const override { return rank / ranks_per_node_; }
    Answer carry_out(const inject::SetEnv& pull);
    Answer carry_out(const inject::UnsetEnv& pull);
    Answer carry_out(const inject::SetVersion& pull);
    Answer carry_out(const inject::SwapRanks& pull);
    Answer carry_out(const inject::BreakPackage& pull);
    Answer carry_out(const inject::TakePort& pull);
    Answer carry_out(const inject::Kill& pull);
    Answer carry_out(const inject::Exit& pull);
    Answer carry_out(const inject::Stop& pull);
    Answer carry_out(const inject::Resume& pull);
    Answer carry_out(const inject::ChangeDevice& pull);
    Answer carry_out(const inject::ChangeHost& pull);
    Answer carry_out(const inject::ChangeLink& pull);
    Answer carry_out(const inject::ChangeStorage& pull);
    Answer carry_out(const inject::ChangeStore& pull);
    Answer carry_out(const inject::Preempt& pull);
    Answer carry_out(const inject::AlterCall& pull);
    Answer carry_out(const inject::BendValue& pull);
    Answer carry_out(const inject::Unbend& pull);
    Answer carry_out(const inject::SkipBlock& pull);

private:
    tl::unexpected<scenarios::Error> missing(const inject::Lever& lever) const override;
    Answer only_before_start(const inject::Lever& lever) const;
    Answer keep(Rank rank, std::string text);
    Answer change_network(const inject::LinkChange& change);

    Rank ranks_, ranks_per_node_;
    std::filesystem::path scratch_;
    bool starting_ = false;
    std::map<Rank, RankSetting> settings_;
    std::vector<HookPull> pulls_;
    std::map<std::string, std::string> overlays_;
    bool port_taken_ = false, port_mute_ = false, link_changed_ = false, network_changed_ = false,
         storage_changed_ = false;
    std::string network_missing_ = "it was not checked whether nodes can have their own network";
    std::set<Rank> behind_proxy_;
};

}  // namespace deadrank::runners
