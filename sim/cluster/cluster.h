// sim/cluster/cluster.h — A whole simulated cluster with one job on it: nodes, links, devices, launcher, and
// a fiber for every rank. Faults act through the methods below and through one Interceptor; they never see
// what a rank or a detector sees.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/record/changes.h"
#include "results/record/event.h"
#include "sim/engine/engine.h"
#include "sim/machine/call.h"
#include "sim/machine/cluster_settings.h"
#include "sim/machine/host.h"
#include "sim/machine/processes.h"
#include "sim/world/world.h"

namespace deadrank::sim {

using results::DeviceChange;
using results::HostChange;
using results::LinkChange;
using results::StorageChange;
using results::StorageTrouble;

struct RunResult {
    Ending ending = Ending::completed;  // of sim/engine/engine.h
    Time end{0};                        // when the last thing happened
    Time observed_until{0};             // end + observe when ranks were left waiting
    std::vector<ProcessEnd> ends;       // by process
    std::vector<std::string>
        waits_for;  // "rank 0 waits in all_reduce #7 of world for rank 3, which exited (signal 9)"
    std::uint64_t hash = 0;
    std::uint64_t events = 0;  // hashed
    std::vector<std::uint64_t> checkpoints;
    std::vector<std::uint64_t> rank_hashes;
    std::vector<WatchedEvent> watched;  // of ClusterOptions::watch
};

struct ClusterOptions {
    std::optional<Seed> explore_order = {};  // ties in time are broken at random
    TraceWindow watch = {0, 0};
    bool keep_rank_hashes = true;
    std::uint64_t step_limit = UINT64_MAX;     // bound on loops that never let time pass
    std::function<bool()> stop = {};           // asked now and then: true ends the run, as Ending::stopped
    std::uint64_t stop_asked_every = 1 << 20;  // steps of the engine
    std::function<void()> at_standstill = {};  // at the end of a run whose ranks still wait: evidence is open
    std::size_t stack_bytes = 64 << 10;        // of a rank's fiber
};

class Cluster {
public:
    // `engine` comes from on_stage() (sim/engine/stage.h) and must not be shared; everything recorded goes to
    // `sink` in order of time.
    Cluster(Engine& engine, const ClusterSettings& settings, Seed seed, results::EventSink& sink,
            const ClusterOptions& options = {});
    ~Cluster();
    Cluster(const Cluster&) = delete;
    Cluster& operator=(const Cluster&) = delete;

    // Launches the job: `workload` runs once in each process, and again in each after a restart. Only once a
    // cluster. Throws what this machine failed with during the run, such as std::bad_alloc.
    RunResult run(const std::function<void(World&)>& workload);

    // ── What an interceptor needs. It is asked only about armed processes, on their own stacks, just before
    // each call. It may call any method below; a kill, stop or exit of the asking process itself takes effect
    // when before() returned.
    void intercept(Interceptor* interceptor);
    void arm(Rank process, bool on = true);
    void at(Time when, std::function<void()> what);  // a trigger by time; `when` counts from the job's start
    Time now() const;

    // ── Where things are.
    const ClusterSettings& settings() const;
    Rank processes() const;
    int node_of(Rank process) const;
    std::vector<Rank> processes_of(int node) const;
    bool in_crowd(Rank process) const;  // one of many that are played as one: nothing can be done to it
    std::int64_t step_of(Rank process) const;  // training step under way; -1 before the first
    bool alive(Rank process) const;            // its process exists (it may be stopped)
    const std::vector<Number>* file_content(std::string_view path) const;  // nullptr: it is not there

    // ── Before the job starts. Packages and names also apply to processes that a restart brings.
    void set_env(Rank process, std::string_view name,
                 std::string_view value);  // overrides the launcher's own
    void unset_env(Rank process, std::string_view name);
    bool has_env(Rank process, std::string_view name) const;
    // Has the process read this variable or version since it was set or taken away?
    bool has_requested(Rank process, std::string_view name) const;
    void set_version(Rank process, std::string_view package, std::string_view version);
    void swap_ranks(Rank a, Rank b);  // RANK of two processes exchanged; LOCAL_RANK and devices stay
    // `built_for`: "torch 2.4", which makes it whole where it is installed.
    void break_package(Rank process, std::string_view package, std::string_view problem,
                       bool shadowed = false, std::string_view built_for = {});
    void take_port(int node, std::string_view port, bool mute);  // mute: accepts and never answers
    // Another job's keys in the kept store, under that run id; `came`: how many of its ranks have come, -1 =
    // as many as this job has. False: each job has a store of its own.
    bool share_store(std::string_view run_id, std::int64_t came);
    // `own_host`: the name of the node that the process is on.
    static constexpr std::string_view own_host = "own";
    void break_name(Rank process, std::string_view host, NameTrouble how);
    void add_interface(int node, const Interface& interface, bool sorts_first);
    bool rename_interface(int node, std::string_view name, std::string_view new_name);  // empty: it is gone

    // ── At any time.
    void kill(Rank process, int signal);
    void exit(Rank process, int code, std::string_view says);  // raises in its own code
    void stop(Rank process);                                   // SIGSTOP
    void resume(Rank process);                                 // SIGCONT
    void change_device(Rank process, const DeviceChange& change);
    void change_host(int node, const HostChange& change);
    void change_link(const LinkChange& change);
    void change_storage(const StorageChange& change);
    void change_store(Rank process, StoreTrouble trouble, Time late);  // its way to the store
    void preempt(std::string_view reason);  // the scheduler takes the whole job: SIGTERM to all

private:
    struct Job;
    ClusterOptions options_;
    std::unique_ptr<Job> machine_;
};

}  // namespace deadrank::sim
