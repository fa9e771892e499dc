// runners/pipeline/play_trial.h — The project's one pipeline: scenario → plan → run → evidence → findings →
// judgement. Each step takes values and returns values; campaign, sweep, shrink and probe call it with other
// plans.
#pragma once

#include <atomic>
#include <filesystem>
#include <optional>

#include "results/detectors/detector.h"
#include "results/judging/case.h"
#include "runners/backend/runner.h"
#include "scenarios/model/scenario.h"

namespace deadrank::runners {

struct PipelineOptions {
    std::filesystem::path out = {};  // each run's files go to a directory below it; empty = not kept
    bool control = true;             // also play the same draws without the fault
    bool healed = true;              // and with the fix
    bool explore_order = false;      // what may come in any order comes in one drawn from the plan's seed,
    std::optional<std::uint64_t> order_seed = {};  // or from this one
    std::int64_t memory = 0;         // bytes that one run in the simulator may take; 0 = what is free
    std::atomic<bool>* stop = nullptr;
    Branches* branches = nullptr;  // these three as RunOptions'
    bool left_files = false;
    const results::LeftFiles* healthy_left = nullptr;
    const results::Detectors* detectors = nullptr;  // null = all of ours
};

// One plan played, with the findings.
struct Played {
    scenarios::Plan plan;
    Record record;
    std::vector<results::Finding> findings;
};
scenarios::Result<Played> play_plan(const scenarios::Plan& plan, Runner& runner,
                                    const PipelineOptions& options,
                                    const std::filesystem::path& raw_logs = {});

// A record of that plan, with the findings. An interrupted run has none.
Played with_findings(const scenarios::Plan& plan, Record record, const PipelineOptions& options);

// One scenario under one seed: its runs and their outcome.
struct Trialled {
    results::Case outcome;
    std::optional<Played> fault, control, healed;  // absent: not asked for, or could not be played
};

// Never fails: an error gives an unknown outcome with the reason.
Trialled play(const scenarios::Scenario& scenario, scenarios::Seed seed, Runner& runner,
              const scenarios::Vocabulary& vocabulary, const PipelineOptions& options = {});

}  // namespace deadrank::runners
