// runners/line/line.h — The one flow of the house: scenario → plan → run → evidence → findings → judgement.
// Each arrow takes values and gives values; campaign, sweep, shrink and probe call this again with another
// plan.
#pragma once

#include <atomic>
#include <filesystem>
#include <optional>

#include "results/detectors/detector.h"
#include "results/judging/case.h"
#include "runners/runner/runner.h"
#include "scenarios/model/scenario.h"

namespace deadrank::runners {

struct LineOptions {
    std::filesystem::path out = {};  // each run's files go to a directory below; empty = nowhere
    bool control = true;             // also the same draws without the fault
    bool healed = true;              // and with the fix
    bool explore_order = false;      // ties in time broken by chance
    std::atomic<bool>* stop = nullptr;
    const results::Detectors* detectors = nullptr;  // null = all of ours
};

// One plan played, and what was noticed in it.
struct Played {
    scenarios::Plan plan;
    Record record;
    std::vector<results::Finding> findings;
};
scenarios::Result<Played> play_plan(const scenarios::Plan& plan, Runner& runner, const LineOptions& options,
                                    const std::filesystem::path& raw_logs = {});

// One scenario under one seed: all that was played, and what came of it.
struct Trialled {
    results::Case outcome;
    std::optional<Played> fault, control, healed;  // absent: not asked for, or it could not be played
};

// Never fails: whatever kept us from knowing is an unknown outcome with its sentence.
Trialled play(const scenarios::Scenario& scenario, scenarios::Seed seed, Runner& runner,
              const scenarios::Vocabulary& vocabulary, const LineOptions& options = {});

}  // namespace deadrank::runners
