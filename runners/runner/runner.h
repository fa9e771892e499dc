// runners/runner/runner.h — Plays a plan somewhere and gives back what happened: evidence, and truth beside
// it.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "results/record/record.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners {

using results::Record;
using results::TraceEvent;

struct RunOptions {
    std::filesystem::path directory;  // where raw logs may be kept; empty = nowhere
    bool keep_evidence = true;
    bool explore_order = false;           // ties in time broken by chance
    std::vector<std::string> muted = {};  // kinds of faults whose levers do not move (simulator only)
    std::uint64_t watch_first = 0, watch_last = 0;  // events of the trace to keep: [first, last)
    std::atomic<bool>* stop = nullptr;              // set by Ctrl-C: end soon, keep what there is
};

class Runner {
public:
    virtual ~Runner() = default;
    virtual std::string_view name() const = 0;  // sim, local, mpi, gpu
    virtual scenarios::Capabilities capabilities() const = 0;

    // Whether all of the plan would be played, found out on paper: nothing is started. Errors: unsupported,
    // for what a run would refuse, and for what it would leave out without harm to anybody but a comparison.
    virtual scenarios::Result<void> on_paper(const scenarios::Plan&) { return {}; }

    // Errors: unsupported, environment, io. A job that fails is no error: it is a Record.
    virtual scenarios::Result<Record> run(const scenarios::Plan& plan, const RunOptions& options) = 0;
};

}  // namespace deadrank::runners
