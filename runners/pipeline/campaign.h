// runners/pipeline/campaign.h — Plays many scenarios under many seeds on several threads; outcomes arrive in
// the order asked for.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "runners/backend/runner.h"
#include "runners/pipeline/play_trial.h"
#include "runners/pipeline/workers.h"

namespace deadrank::runners {

struct Job {
    const scenarios::Scenario* scenario = nullptr;  // outlives the campaign
    scenarios::Seed seed;
};

struct CampaignOptions {
    PipelineOptions line = {};  // its `stop` ends the campaign after the current trials
    int threads = 1;
    // Called on any thread as soon as a trial is done, in any order: for a progress bar.
    std::function<void(std::size_t done, std::size_t all)> progress = {};
    // Called on any thread with a whole trial, before its evidence is freed. `index` is its place in
    // `jobs`.
    std::function<void(std::size_t index, const Trialled& trial)> seen = {};
};

// `make_runner` is called once on each thread. `take` gets the outcomes one at a time, in the order of
// `jobs`; trials left unplayed by a stop have none. Returns how many were played.
std::size_t play_all(const std::vector<Job>& jobs, const MakeRunner& make_runner,
                     const scenarios::Vocabulary& vocabulary, const CampaignOptions& options,
                     const std::function<void(results::Case&&)>& take);

}  // namespace deadrank::runners
