// runners/backends/ranks/job_world.h — sim::World of one process of a real job: the workloads of the
// simulator run in it unchanged.
#pragma once

#include <filesystem>
#include <map>
#include <memory>

#include "runners/backends/ranks/rank_comm.h"
#include "runners/backends/ranks/rank_files.h"
#include "scenarios/model/plan.h"
#include "sim/machine/cluster_settings.h"
#include "sim/world/world.h"

namespace deadrank::runners {

class RealTimer final : public sim::Timer {
public:
    RealTimer(Gate& gate, const JobClock& clock) : gate_(gate), clock_(clock) {}
    sim::Time now() const override { return clock_.now(); }
    void sleep(sim::Time duration) override { gate_.sleep(duration); }

private:
    Gate& gate_;
    const JobClock& clock_;
};

class RealEnv final : public sim::Env {
public:
    RealEnv(const sim::ClusterSettings& settings, Gate& gate, const CommLibrary& library,
            results::Rank process);
    std::optional<std::string> get(std::string_view name) const override;
    std::string version(std::string_view package) const override;
    std::map<std::string, std::string> all() const;
    std::string lines() const;
    std::string version_lines() const;

private:
    const sim::ClusterSettings& settings_;
    Gate& gate_;
    const CommLibrary& library_;
    std::map<std::string, std::string, std::less<>> given_;
};

// Computing only takes time, memory is only counted. If a fault limits memory, the rest is really occupied on
// the library's device, if there is one.
class RealDevice final : public sim::Device {
public:
    RealDevice(const sim::ClusterSettings& settings, Gate& gate, Trail& evidence, CommLibrary& library,
               int index)
        : settings_(settings), gate_(gate), evidence_(evidence), library_(library), index_(index) {}
    int index() const override { return index_; }
    int count() const override { return settings_.gpus_per_node; }
    void compute(sim::Time nominal) override;
    std::int64_t allocate(std::int64_t bytes) override;
    void release(std::int64_t handle) override;
    std::int64_t used() const override { return used_; }
    std::int64_t limit() const override;
    std::int64_t allocate_host(std::int64_t bytes, bool pinned) override;
    void sample();
    void leak();  // once per step

private:
    void feel_pressure();
    struct Piece {
        std::int64_t bytes = 0;
        bool host = false;
    };
    const sim::ClusterSettings& settings_;
    Gate& gate_;
    Trail& evidence_;
    CommLibrary& library_;
    int index_;
    std::int64_t pressed_ = -1;  // the limit that the library was told
    sim::Time woken_late_{0};
    std::int64_t used_ = 0, peak_ = 0, host_used_ = 0;
    std::vector<Piece> pieces_;
};

class RealWorld final : public sim::World {
public:
    RealWorld(const scenarios::Plan& plan, const sim::ClusterSettings& settings, Gate& gate, Trail& evidence,
              CommLibrary& library, const std::filesystem::path& directory, results::Rank process);

    results::Rank process() const override { return process_; }
    results::Rank processes() const override { return settings_.process_count(); }
    int node() const override { return gate_.levers().node_of(process_); }
    int attempt() const override { return 0; }
    sim::Timer& timer() override { return timer_; }
    RealEnv& env() override { return env_; }
    sim::Device& device() override { return device_; }
    sim::Storage& storage() override { return storage_; }
    sim::Store& rendezvous(std::string_view endpoint, bool host, sim::Time timeout) override;
    std::unique_ptr<sim::Comm> communicator(const sim::CommRequest& request) override;
    std::uint64_t chance(std::string_view purpose, std::uint64_t index, std::uint64_t bound) override;
    std::int64_t seam(std::string_view name, std::int64_t value) override;
    bool block(std::string_view name) override;
    void record(const results::Payload& what) override { evidence_.record(what); }
    results::TextId text(std::string_view words) override { return evidence_.text(words); }
    void step(std::int64_t number) override;
    void phase(results::Phase phase) override;

    void show_start(int pid);

private:
    const scenarios::Plan& plan_;
    const sim::ClusterSettings& settings_;
    Gate& gate_;
    Trail& evidence_;
    CommLibrary& library_;
    MeetingPlace place_;
    results::Rank process_;
    RealTimer timer_;
    RealEnv env_;
    RealDevice device_;
    RealStorage storage_;
    RealRank rank_;
    std::vector<std::unique_ptr<sim::Store>> stores_;
    std::map<std::string, int> joined_;  // by name: how often this process asked for it
};

}  // namespace deadrank::runners
