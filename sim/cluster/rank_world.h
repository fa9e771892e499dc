// sim/cluster/rank_world.h — The World that a simulated rank sees. Small: everything large belongs to the
// machine.
#pragma once

#include "sim/machine/device.h"
#include "sim/machine/files.h"
#include "sim/world/world.h"

namespace deadrank::sim {

struct Fabric;
struct Process;

class RankTimer final : public Timer {
public:
    RankTimer(Fabric& machine, Process& process) : machine_(machine), process_(process) {}
    Time now() const override;
    void sleep(Time duration) override;
    void yield_turn() override;

private:
    Fabric& machine_;
    Process& process_;
};

class RankEnv final : public Env, public Signals {
public:
    RankEnv(Fabric& machine, Process& process) : machine_(machine), process_(process) {}
    std::optional<std::string> get(std::string_view name) const override;
    std::vector<std::pair<std::string, std::string>> variables() const override;
    std::string version(std::string_view package) const override;

    void keep(int number, bool yes) override;
    int take() override;

private:
    Fabric& machine_;
    Process& process_;
};

class RankWorld final : public World {
public:
    RankWorld(Fabric& machine, Process& process);

    Rank process() const override;
    Rank processes() const override;
    int node() const override;
    int attempt() const override;
    Timer& timer() override { return timer_; }
    Env& env() override { return env_; }
    Device& device() override { return device_; }
    Storage& storage() override { return storage_; }
    Signals& signals() override { return env_; }
    Store& rendezvous(std::string_view endpoint, bool host, Time timeout) override;
    Store& own_store(std::string_view endpoint, bool host, Time timeout) override;
    Store& file_store(std::string_view path, Rank ranks) override;
    void leave_store(Store& store) override;
    std::unique_ptr<Comm> communicator(const CommRequest& request) override;
    std::uint64_t chance(std::string_view purpose, std::uint64_t index, std::uint64_t bound) override;
    std::int64_t seam(std::string_view name, std::int64_t value) override;
    bool block(std::string_view name) override;
    void record(const results::Payload& what) override;
    results::TextId text(std::string_view words) override;
    void step(std::int64_t number) override;
    void phase(results::Phase phase) override;

private:
    Fabric& machine_;
    Process& process_;
    RankTimer timer_;
    RankEnv env_;
    RankDevice device_;
    RankStorage storage_;
};

}  // namespace deadrank::sim
