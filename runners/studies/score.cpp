// runners/studies/score.cpp — The judge is the same for all; only the expectation is cut to what a tool can
// say.
#include "runners/studies/score.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <thread>

namespace deadrank::runners {

namespace {

using results::Case;
using results::Finding;

bool has(const std::vector<std::string>& list, std::string_view word) {
    return std::find(list.begin(), list.end(), word) != list.end();
}

bool in_field(const Tool& tool, const scenarios::Expectation& expect) {
    for (const auto& detector : tool.detectors) {
        for (const std::string_view symptom : detector->symptoms()) {
            if (symptom == expect.symptom || has(expect.also, symptom)) return true;
        }
    }
    return false;
}

// Played by whom nobody listens to yet.
Trialled play_unheard(const Job& job, Runner& runner, const scenarios::Vocabulary& vocabulary,
                      std::atomic<bool>* stop) {
    static const results::Detectors nobody;
    LineOptions options;
    options.detectors = &nobody;
    options.healed = false;
    options.stop = stop;
    return play(*job.scenario, job.seed, runner, vocabulary, options);
}

}  // namespace

scenarios::Expectation expectation_for(const Tool& tool, scenarios::Expectation expect,
                                       const std::vector<Finding>& findings) {
    if (!tool.blames.empty())
        std::erase_if(expect.blames, [&](const std::string& field) { return !has(tool.blames, field); });
    expect.reaction = "any";
    expect.recovers_within = -1;
    const bool due = std::any_of(findings.begin(), findings.end(),
                                 [&](const Finding& one) { return one.symptom == expect.symptom; });
    if (due) return expect;
    for (const Finding& finding : findings) {
        if (!has(expect.also, finding.symptom)) continue;
        std::replace(expect.also.begin(), expect.also.end(), finding.symptom, expect.symptom);
        expect.symptom = finding.symptom;
        break;
    }
    return expect;
}

ToolCase judge_tool(const Tool& tool, const Trialled& played) {
    ToolCase result;
    Case& one = result.outcome;
    one = played.outcome;
    one.fault.reset();
    one.control.reset();
    one.verdict = results::Verdict::unknown;
    result.in_field = in_field(tool, one.expect);
    result.pinned = results::known_limit(tool.name, tool.version, one.scenario);
    if (played.control) {
        const Record& record = played.control->record;
        one.control =
            results::judge(played.control->plan, record, results::detect(record.evidence, tool.detectors));
    }
    if (!played.fault) return result;
    const Record& record = played.fault->record;
    const auto findings = results::detect(record.evidence, tool.detectors);
    scenarios::Plan plan = played.fault->plan;
    plan.expect = one.expect = expectation_for(tool, plan.expect, findings);
    one.fault =
        results::judge(plan, record, findings, played.control ? &played.control->record.evidence : nullptr);
    one.conclude();
    return result;
}

std::vector<std::vector<ToolCase>> score_tools(const std::vector<Tool>& tools, const std::vector<Job>& jobs,
                                               const std::function<std::unique_ptr<Runner>()>& make_runner,
                                               const scenarios::Vocabulary& vocabulary,
                                               const ScoreOptions& options) {
    std::vector<std::map<std::size_t, ToolCase>> by_tool(tools.size());
    std::mutex mutex;
    std::atomic<std::size_t> next = 0;
    std::size_t done = 0;
    const auto stopped = [&] { return options.stop && options.stop->load(); };
    const auto work = [&] {
        const std::unique_ptr<Runner> runner = make_runner();
        for (std::size_t i = next++; i < jobs.size() && !stopped(); i = next++) {
            const Trialled played = play_unheard(jobs[i], *runner, vocabulary, options.stop);
            for (std::size_t tool = 0; tool < tools.size() && !stopped(); ++tool) {
                if (!tools[tool].missing.empty()) continue;
                ToolCase judged = judge_tool(tools[tool], played);
                const std::lock_guard lock(mutex);
                if (!stopped()) by_tool[tool].emplace(i, std::move(judged));
            }
            const std::lock_guard lock(mutex);
            ++done;
            if (options.progress) options.progress(done, jobs.size());
        }
    };
    std::vector<std::thread> threads;
    for (int i = 1; i < options.threads; ++i) threads.emplace_back(work);
    work();
    for (std::thread& thread : threads) thread.join();
    std::vector<std::vector<ToolCase>> cases(tools.size());
    for (std::size_t tool = 0; tool < tools.size(); ++tool) {
        for (auto& [index, one] : by_tool[tool]) cases[tool].push_back(std::move(one));
    }
    return cases;
}

}  // namespace deadrank::runners
