// runners/backends/local/levers.h — The levers of real processes. Before the job starts they set what a rank
// will find; for later moments they are written down, and the hook inside the rank pulls them when the moment
// has come.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "inject/core/levers.h"

namespace deadrank::runners {

// What one rank finds when it starts, beside what all find.
struct RankSetting {
    std::map<std::string, std::string> set;
    std::vector<std::string> unset;
    std::vector<std::string> path;  // directories searched for packages first
    std::string python;             // another interpreter; empty = the job's
};

// One lever to be pulled by the hook, as the JSON that it reads.
struct Pull {
    inject::Rank rank = results::no_rank;
    std::string json;
};

class LocalLevers final : public inject::Levers {
public:
    LocalLevers(inject::Rank ranks, inject::Rank ranks_per_node, std::filesystem::path scratch);

    // The pulls since the last call. `starting`: the job has not started, so that environments may still be
    // set directly.
    std::vector<Pull> take();
    void starting(bool yes) { starting_ = yes; }

    const std::map<inject::Rank, RankSetting>& settings() const { return settings_; }
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
    Answer change_link(const inject::LinkChange& change) override;
    Answer change_storage(const inject::StorageChange& change) override;
    Answer change_store(Rank rank, const inject::StoreChange& change) override;
    Answer preempt(std::string_view reason) override;
    Answer alter_call(Rank rank, const inject::Alteration& alteration) override;
    Answer bend(Rank rank, std::string_view seam, const inject::Bend& bend) override;
    Answer unbend(Rank rank, std::string_view seam) override;
    Answer skip_block(Rank rank, std::string_view block, bool skip) override;

private:
    Answer only_before_start(std::string_view lever) const;
    Answer keep(Rank rank, std::string text);
    Answer change_network(const inject::LinkChange& change);

    Rank ranks_, ranks_per_node_;
    std::filesystem::path scratch_;
    bool starting_ = false;
    std::map<Rank, RankSetting> settings_;
    std::vector<Pull> pulls_;
    bool port_taken_ = false, port_mute_ = false, link_changed_ = false, network_changed_ = false,
         storage_changed_ = false;
    std::string network_missing_ = "nobody has looked whether nodes can have a network of their own";
    std::set<Rank> behind_proxy_;
};

}  // namespace deadrank::runners
