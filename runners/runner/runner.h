// runners/runner/runner.h — Plays a plan somewhere and gives back what happened: evidence, and truth beside
// it.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "results/record/evidence.h"
#include "results/record/truth.h"
#include "results/record/waiting.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners {

// One event of the simulator's own trace, of which evidence is a part: who, what, and what identifies it.
struct TraceEvent {
    std::uint64_t index = 0;  // its place in the run, from 0
    results::Time at{0};
    results::Rank rank = results::no_rank;
    std::string what;
    std::uint64_t digest = 0;

    bool operator==(const TraceEvent&) const = default;
};

struct Record {
    results::Evidence evidence;
    results::Truth truth;
    std::uint64_t trace_hash = 0;  // over every event; the simulator only
    std::vector<std::uint64_t> rank_hashes;
    std::vector<std::uint64_t> checkpoints;  // global hash after every 4,096 events
    std::uint64_t events = 0;
    std::vector<TraceEvent> watched;  // those that RunOptions::watch asked for
    results::Time ended{0};           // virtual or monotonic
    results::Waiting waiting;         // of real processes, for a processor that others had
    std::vector<std::string> notes;  // what the backend wants said: which torch, which NCCL, what was skipped
};

struct RunOptions {
    std::filesystem::path directory;  // where raw logs may be kept; empty = nowhere
    bool keep_evidence = true;
    bool explore_order = false;                     // ties in time broken by chance
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
