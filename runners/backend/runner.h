// runners/backend/runner.h — Plays a plan somewhere and returns what happened: evidence and truth.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "results/record/record.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners {

using results::Record;
using results::TraceEvent;

class Branches;

struct RunOptions {
    std::filesystem::path directory;  // where raw logs may be kept; empty = nowhere
    std::int64_t memory = 0;  // bytes that the simulator may use; 0 = what is free
    bool keep_evidence = true;
    std::optional<std::uint64_t> order_seed = {};  // what may come in any order comes in one drawn from this seed
    std::vector<std::string> muted = {};  // kinds of faults whose levers do not move (simulator only)
    std::uint64_t watch_first = 0, watch_last = 0;  // events of the trace to keep: [first, last)
    std::atomic<bool>* stop = nullptr;              // set by Ctrl-C: end soon, keep what there is
    bool left_files = false;  // look at what the program leaves (managed ranks only)
    const results::LeftFiles* healthy_left = nullptr;  // of the healthy run: what is as there is not read
    // Not null: the plan's faults are alternatives, each played in a copy of the run (managed ranks only).
    Branches* branches = nullptr;
};

class Runner {
public:
    virtual ~Runner();
    virtual std::string_view name() const = 0;  // sim, local, mpi, gpu
    virtual scenarios::Capabilities capabilities() const = 0;

    // Checks, without starting anything, whether all of the plan would be played. Errors: unsupported, for
    // what a run would refuse, and for what it would leave out, which matters only for comparisons.
    virtual scenarios::Result<void> check_plan(const scenarios::Plan&) { return {}; }

    // Whether RunOptions::branches can be had. Errors: unsupported.
    virtual scenarios::Result<void> can_branch() const {
        return scenarios::refuse(scenarios::ErrorCode::unsupported, "runs of this backend cannot be copied");
    }

    // What this machine lacks to play the scenario at all, in one sentence; empty: nothing. Such a trial is
    // skipped and counts neither way.
    virtual std::string find_missing(const scenarios::Scenario&) { return {}; }

    // Whether what is played reads this setting of the workload: a heal by a setting that nothing reads heals
    // nothing.
    virtual bool reads(const scenarios::Plan&, const std::string& /*setting*/) { return true; }

    // Errors: unsupported, environment, io. A failed job is not an error: it is a Record. A failure of this
    // machine is never a Record, whatever the backend had seen of the job until then.
    scenarios::Result<Record> run(const scenarios::Plan& plan, const RunOptions& options);

private:
    // Whether ranks are processes of this machine, which the kernel may end.
    virtual bool starts_processes() const { return true; }
    // May throw std::bad_alloc and std::system_error.
    virtual scenarios::Result<Record> play(const scenarios::Plan& plan, const RunOptions& options) = 0;
};

}  // namespace deadrank::runners
