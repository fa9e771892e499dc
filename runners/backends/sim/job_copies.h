// runners/backends/sim/job_copies.h — A managed job as several processes from one moment on: one for each fault of
// a plan, or one for each time that a debugger begins.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "inject/core/injector.h"
#include "runners/backend/branches.h"
#include "runners/backend/copies.h"
#include "scenarios/model/plan.h"
#include "sim/managed/descriptor.h"
#include "sim/managed/managed_job.h"

namespace deadrank::runners {

// The directories that a copy changes for itself alone, and where its layers over them are mounted. What the layers do
// not hold is read from the directories themselves, so each copy keeps `lock` locked: meanwhile the run changes nothing.
struct PrivateLayers {
    std::vector<std::filesystem::path> directories;
    std::filesystem::path memory;
    std::filesystem::path lock;
};

using PlayPlan = std::function<scenarios::Result<results::Record>(const scenarios::Plan&)>;

// The run forks itself where a fault is due; the copy ends its process.
class BranchingRun {
public:
    // `at_end`: called in each copy when all processes of its run are gone.
    BranchingRun(sim::managed::ManagedJob& job, PrivateLayers layers, Branches& branches,
                 std::function<void(results::Record&)> at_end)
        : job_(job), layers_(std::move(layers)), branches_(branches), at_end_(std::move(at_end)) {}

    inject::Passage decide_passage(std::size_t fault);
    // Both return in the process that the run began in alone. The second makes a copy for each fault before it
    // begins.
    void play(const std::function<scenarios::Result<results::Record>()>& simulation,
              scenarios::Result<results::Record>& record);
    void play_each(const scenarios::Plan& plan, const PlayPlan& simulation,
                   scenarios::Result<results::Record>& record);

private:
    sim::managed::ManagedJob& job_;
    const PrivateLayers layers_;
    Branches& branches_;
    const std::function<void(results::Record&)> at_end_;
    bool is_copy_ = false;
    sim::managed::Descriptor lock_;  // a copy's
};

// At the moment of the plan's last fault, which never acts, its rank has a debugger: in a copy of the run, so that
// it can begin anew. Where the run cannot be copied, in the run itself.
class DebuggedRun {
public:
    DebuggedRun(sim::managed::ManagedJob& job, PrivateLayers layers, const scenarios::Plan& plan,
                const std::atomic<bool>* stop);

    inject::Passage decide_passage(std::size_t fault);
    // Returns in the process that the run began in alone.
    void play(const std::function<scenarios::Result<results::Record>()>& simulation,
              scenarios::Result<results::Record>& record);

private:
    sim::managed::ManagedJob& job_;
    const PrivateLayers layers_;
    const std::size_t moment_;  // the number of that fault
    const results::Rank rank_;
    bool back_ = false;
    bool is_copy_ = false;
    Copies copies_;
};

}  // namespace deadrank::runners
