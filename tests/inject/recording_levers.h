// tests/inject/recording_levers.h — Levers that do nothing and write every pull down as a line: four nodes of
// two ranks. A lever named in `refused` answers as a backend that lacks it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "inject/core/levers.h"

namespace deadrank::inject::testing {

class RecordingLevers final : public Levers {
public:
    std::vector<std::string> pulls;
    std::set<std::string> refused;  // lever names that this backend lacks

    Rank ranks() const override { return 8; }
    int node_of(Rank rank) const override { return rank / 2; }
    std::vector<Rank> ranks_of(int node) const override { return {node * 2, node * 2 + 1}; }

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
    Result<Done> change_device(Rank rank, const DeviceChange& change) override;
    Result<Done> change_host(int node, const HostChange& change) override;
    Result<Done> change_link(const LinkChange& change) override;
    Result<Done> change_storage(const StorageChange& change) override;
    Result<Done> change_store(Rank rank, const StoreChange& change) override;
    Result<Done> preempt(std::string_view reason) override;
    Result<Done> alter_call(Rank rank, const Alteration& alteration) override;
    Result<Done> bend(Rank rank, std::string_view seam, const Bend& bend) override;
    Result<Done> unbend(Rank rank, std::string_view seam) override;
    Result<Done> skip_block(Rank rank, std::string_view block, bool skip) override;

private:
    Result<Done> pull(const std::string& lever, const std::string& words);
};

}  // namespace deadrank::inject::testing
