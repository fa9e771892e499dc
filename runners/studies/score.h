// runners/studies/score.h — Tools judged over scenarios: each run is played once, and every tool is asked
// about the same evidence.
#pragma once

#include <functional>
#include <vector>

#include "results/judging/case.h"
#include "results/judging/known_limits.h"
#include "runners/line/campaign.h"
#include "runners/studies/tools.h"

namespace deadrank::runners {

// One tool on one scenario under one seed.
struct ToolCase {
    results::Case outcome;
    bool in_field = true;                         // it can report what was due at all
    const results::KnownLimit* pinned = nullptr;  // what this release is known to get wrong here

    bool as_pinned() const { return !pinned || outcome.fault->outcome == pinned->outcome; }
};

// What is asked of a tool: what it can name at all; how the job reacts is not its doing. A symptom that the
// scenario also allows is as good an answer, where the one that was due is not among the tool's findings.
scenarios::Expectation expectation_for(const Tool& tool, scenarios::Expectation expect,
                                       const std::vector<results::Finding>& findings);

// The case that this tool makes of what was played.
ToolCase judge_tool(const Tool& tool, const Trialled& played);

struct ScoreOptions {
    int threads = 1;
    std::atomic<bool>* stop = nullptr;
    std::function<void(std::size_t done, std::size_t all)> progress = {};
};

// By tool, then in the order of `jobs`. Tools that are missing have no cases; after a stop the rest is left
// out.
std::vector<std::vector<ToolCase>> score_tools(const std::vector<Tool>& tools, const std::vector<Job>& jobs,
                                               const std::function<std::unique_ptr<Runner>()>& make_runner,
                                               const scenarios::Vocabulary& vocabulary,
                                               const ScoreOptions& options);

}  // namespace deadrank::runners
