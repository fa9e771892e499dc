// runners/score/score.h — How good detectors and the diagnosis are, over many runs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "results/diagnosis/diagnosis.h"
#include "results/judging/case.h"
#include "results/judging/known_limits.h"
#include "runners/pipeline/campaign.h"
#include "runners/pipeline/play_trial.h"
#include "runners/score/tools.h"

namespace deadrank::runners {

// ── Tools judged over scenarios: each run is played once, and every tool is asked about the same evidence.

// One tool on one scenario under one seed.
struct ToolCase {
    results::Case outcome;
    bool in_field = true;                         // the tool can report the expected symptom at all
    const results::KnownLimit* pinned = nullptr;  // a known mistake of this release here

    bool matches_pin() const { return !pinned || outcome.fault->outcome == pinned->outcome; }
};

// What a tool is expected to report: only what it can name, and nothing about the job's reaction. A symptom
// that the scenario also allows is expected instead if the tool did not report the main one.
scenarios::Expectation expectation_for(const Tool& tool, scenarios::Expectation expect,
                                       const std::vector<results::Finding>& findings);

// Judges a played trial by this tool's findings.
ToolCase judge_tool(const Tool& tool, const Trialled& played);

struct ScoreOptions {
    int threads = 1;
    std::atomic<bool>* stop = nullptr;
    std::function<void(std::size_t done, std::size_t all)> progress = {};
};

// By tool, then in the order of `jobs`. Missing tools have no cases; after a stop the rest is left out.
std::vector<std::vector<ToolCase>> score_tools(const std::vector<Tool>& tools, const std::vector<Job>& jobs,
                                               const MakeRunner& make_runner,
                                               const scenarios::Vocabulary& vocabulary,
                                               const ScoreOptions& options);

// ── How often a diagnosis names the right cause and fix pattern, over scenarios and seeds, and whether a
// healthy run is called healthy. Only here is a diagnosis compared with its label.

struct DiagnosedTrial {
    std::string scenario;
    std::uint64_t seed = 1;
    scenarios::Bug bug;
    std::string trouble;         // why it could not be played; else empty
    bool unseen = false;         // the scenario says that no evidence can show its bug
    bool symptom_right = false;  // of the diagnosed finding
    bool control_healthy = false;
    std::size_t cause_place = 0;  // 1 = first; 0 = not named
    std::size_t fix_place = 0;
    std::string named;  // the first cause; empty = diagnosed as healthy
};

// How many of `trials` are right in first place, and among the first three.
struct Accuracy {
    std::size_t trials = 0, symptom = 0, cause_first = 0, cause_three = 0, fix_first = 0, fix_three = 0;

    void count(const DiagnosedTrial& trial);
};

struct DiagnosisScore {
    std::vector<DiagnosedTrial> trials;          // those played, in the order asked for
    Accuracy all;                                // without unseen bugs and unplayed trials
    std::map<std::string, Accuracy> by_symptom;  // symptom of the label
    std::size_t controls = 0, controls_healthy = 0, unseen = 0, not_played = 0;

    void add(DiagnosedTrial trial);
};

struct DiagnosisOptions {
    int threads = 1;
    std::atomic<bool>* stop = nullptr;
    std::function<void(std::size_t done, std::size_t all)> progress = {};
};

DiagnosisScore score_diagnosis(const std::vector<scenarios::Scenario>& scenarios,
                               const std::vector<scenarios::Seed>& seeds, const MakeRunner& make_runner,
                               const scenarios::Vocabulary& vocabulary, const scenarios::Taxonomy& taxonomy,
                               const scenarios::ClueTable& clues, const DiagnosisOptions& options);

}  // namespace deadrank::runners
