// results/alerts/study.h — All rules against all failures, and what would have caught the missed ones.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "results/alerts/policy.h"
#include "results/alerts/presence.h"
#include "results/alerts/static_check.h"
#include "results/alerts/verdict.h"
#include "results/external/promtool.h"

namespace deadrank::results::alerts {

// ── These rules, this site, these failures: Prometheus evaluates the rules once on a healthy run and once
// for each failure, and each answer becomes a row of cells.

// What a player answers: which alerts were active when.
struct PlayerAnswer {
    Activity activity;
    Curves curves;               // how near each asked alert came to its thresholds
    Curves far;                  // and the value that stayed farthest from them
    std::vector<bool> unjudged;  // by rule
    std::map<std::size_t, Refusal> why_unjudged;
    std::vector<bool> reused;  // by rule: its input is that of the healthy run, whose answer is used
    std::vector<double> eval;  // by rule: seconds between two evaluations
    double cpu_seconds = 0;
    std::filesystem::path kept;  // the first file that promtool judged
};

class Player {
public:
    virtual ~Player() = default;
    virtual std::string name() const = 0;  // "promtool 2.42.0"

    // `usual`: the answer for the healthy run; where it is given, only alerts that the incident can change
    // are asked.
    virtual scenarios::Result<PlayerAnswer> play(const exporters::World& world,
                                                 const exporters::Incident& incident,
                                                 const std::vector<RuleFile>& files,
                                                 const std::vector<Rule>& rules,
                                                 const StaticAnalysis& analysis,
                                                 const PlayerAnswer* usual) = 0;
    virtual scenarios::Result<Presence> presence(const std::vector<Rule>& rules,
                                                 const StaticAnalysis& analysis, const Emitted& emitted) = 0;

    // Once `stopped` says so, play() ends soon, without an answer. Not while it plays.
    void stop_when(std::function<bool()> stopped) { stopped_ = std::move(stopped); }

protected:
    std::function<bool()> stopped_;  // may be empty
};

// A suggestion that was tried: does it fire on the failure, and stay silent otherwise?
struct Tried {
    std::string expr, hold, says;
    bool available = false;  // everything it reads exists under this profile
    std::string why;         // what does not exist
    bool fired = false;
    double latency_low = -1;
    bool quiet_when_healthy = false;
};

struct Row {
    exporters::Incident incident;
    std::vector<Cell> cells;  // by rule; empty when `trouble` is set
    exporters::Touched touched;
    std::string trouble;  // why it could not be judged
    bool failed = false;  // `trouble` is one of this machine, and says nothing of the rules
    int best = -1;        // the rule that noticed it first
    std::optional<Tried> suggestion;
    int pages = -1;  // notifications of groups, where Alertmanager was asked
    PlayerAnswer played;
};

struct Study {
    std::vector<RuleFile> files;
    std::vector<external::LoadTrouble> invalid;  // with the operator's lines
    std::vector<Rule> rules;
    StaticAnalysis analysis;
    std::vector<HealthyRow> healthy;
    PlayerAnswer healthy_played;
    std::vector<Row> rows;
    std::string judge;  // which program judged
    exporters::World world;
    std::vector<std::string> notes;
    double cpu_seconds = 0;
    bool complete = true;  // false: stopped, out of time, or promtool failed

    std::size_t unjudged_rows() const;
};

struct StudyOptions {
    int jobs = 2;
    bool suggest = true;
    std::atomic<bool>* stop = nullptr;  // once it is true, the study ends with what was judged so far
    double limit = 0;                   // seconds after which nothing more is played; 0 = none
    std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
    std::function<void(std::size_t done, std::size_t all, const std::string& last)> progress = {};

    bool over() const;  // stopped, or out of time
};

// Judges rules for Kubernetes where their labels exist, and notes why. For sites without a chosen profile.
void choose_profile(Study& study);

// Plays the healthy run and every incident, judges the cells. Errors: those of the player on the healthy run,
// unless that was stopped: the study is then incomplete, without rows.
scenarios::Result<void> conduct(Study& study, const std::vector<exporters::Incident>& incidents,
                                Player& player, const exporters::SignatureCatalog& signatures,
                                const StudyOptions& options);

// For a failure that no alert caught: an expression over existing metrics, played on the healthy run and then
// on the failure.
scenarios::Result<void> suggest(Study& study, Player& player, const exporters::SignatureCatalog& signatures,
                                const StudyOptions& options);

// Takes back each "did you mean" whose name would make the alert ring on the healthy run.
void try_hints(Study& study, Player& player, const Emitted& emitted);

// Calls `use` with 0 … count-1, on a few threads.
void each_of(std::size_t count, int jobs, const std::function<void(std::size_t)>& use);

// The expression with the names and jobs that this site uses.
std::string in_site_words(std::string expr, const exporters::World& world);

}  // namespace deadrank::results::alerts
