// runners/backends/sim/managed_runner.h — Plays a plan in the simulated cluster with an unmodified Python
// program as its workload.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "inject/faults/fault_catalog.h"
#include "runners/backend/runner.h"
#include "runners/backends/process/scratch.h"
#include "runners/backends/sim/launch_command.h"
#include "runners/backends/sim/stages.h"
#include "scenarios/model/plan.h"
#include "sim/managed/managed_job.h"
#include "sim/managed/warm_python.h"

namespace deadrank::runners {

using sim::managed::WarmPython;

struct ManagedSettings {
    LaunchCommand command;
    std::filesystem::path python;           // an interpreter with torch
    std::filesystem::path package;          // the directory with the Python package `deadrank`
    std::filesystem::path hook;             // the observers; empty: none
    std::vector<std::string> preload = {};  // modules that are imported once, besides the usual ones
    // Where the command itself names no script: one whose imports are done once.
    std::filesystem::path imports_of = {};
    // Of the warm interpreter, if the ranks' own would make it another one in each run; empty: the command's.
    std::map<std::string, std::string> warm_environment = {};
    std::map<std::string, std::string> variables = {};  // of all its processes: those of simulated GPUs
    std::filesystem::path directory = ".";              // where the program is started
    std::string text = {};     // the script's, which a patch may change; empty: it is the user's file
    bool own_settings = true;  // ranks get this process's variables of torch, NCCL and CUDA
    std::chrono::seconds real_limit{120};
    std::int64_t compute = 0;  // nanoseconds of virtual time that each step computes
    int at_once = 0;  // processes of one run that compute at the same time; 0: two for each processor
    bool tell_lines = false;  // evidence has a line for each line of the program that calls the simulator
    bool debugged = false;  // at the moment of the plan's last fault its rank has a debugger; that fault never acts
    bool keep_files = false;  // what the program writes stays; else each run begins and ends with the user's
    std::function<void(results::Rank process, bool error, std::string_view line)> print =
        {};                                                             // from any thread
    std::shared_ptr<WarmPython> warm = std::make_shared<WarmPython>();  // copies share it
    // In which directories runs of the program have changed something; copies share it.
    std::shared_ptr<std::set<std::filesystem::path>> changed =
        std::make_shared<std::set<std::filesystem::path>>();
};

// The scenario with the nodes and ranks of a command. Launcher, restarts and monitor interval are the
// command's, unless the scenario states its own: then they are part of the bug.
scenarios::Scenario launched_by(scenarios::Scenario scenario, const LaunchCommand& command);

// A plan of this command without any fault, on a cluster of usual machines.
scenarios::Plan plan_of(const LaunchCommand& command, scenarios::Seed seed);

class ManagedRunner final : public Runner {
public:
    explicit ManagedRunner(ManagedSettings settings, inject::FaultCatalog faults = inject::fault_catalog())
        : settings_(std::move(settings)), faults_(std::move(faults)) {}

    std::string_view name() const override { return "sim"; }
    scenarios::Capabilities capabilities() const override;
    bool reads(const scenarios::Plan&, const std::string&) override { return false; }

    // Thread-safe. Errors: environment, if this machine was in the way: then the run proves nothing.
    scenarios::Result<Record> play(const scenarios::Plan& plan, const RunOptions& options) override;

    // Each copy of a run changes files for itself alone.
    scenarios::Result<void> can_branch() const override;

private:
    ManagedSettings settings_;
    inject::FaultCatalog faults_;
    Stages stages_;
};

}  // namespace deadrank::runners
