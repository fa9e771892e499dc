// results/alerts/study.h — All rules against all failures, and what would have caught the missed ones.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "results/alerts/policy.h"
#include "results/alerts/static_check.h"
#include "results/alerts/verdict.h"
#include "results/external/amtool.h"
#include "results/external/promtool.h"

namespace deadrank::results::alerts {

// ── These rules, this site, these failures: Prometheus evaluates the rules once on a healthy run and once
// for each failure, and each answer becomes a row of cells.

// What a player answers: which alerts were active when.
struct PlayerAnswer {
    Activity activity;
    std::vector<bool> unjudged;                       // by rule
    std::map<std::size_t, std::string> why_unjudged;  // by rule: Prometheus' words
    std::vector<bool> reused;  // by rule: nothing that it reads changes, so the healthy run's answer is used
    std::vector<std::string> notes;
    int exit_code = 0;  // of promtool, on the edge file
    double cpu_seconds = 0;
    bool cached = false;
    std::filesystem::path kept;  // the file that promtool judged
};

class Player {
public:
    virtual ~Player() = default;
    virtual std::string name() const = 0;  // "promtool 2.42.0"
    virtual scenarios::Result<PlayerAnswer> play(const exporters::World& world,
                                                 const exporters::Incident& incident,
                                                 const std::vector<RuleFile>& files,
                                                 const std::vector<Rule>& rules,
                                                 const StaticAnalysis& analysis) = 0;

    // Once `stopped` says so, play() ends soon, without an answer. Not while it plays.
    virtual void stop_when(std::function<bool()> stopped) { stopped_ = std::move(stopped); }

protected:
    std::function<bool()> stopped_;  // may be empty
};

// A suggestion that was tried: does it fire on the failure, and stay silent otherwise?
struct Tried {
    std::string expr, hold, says;
    bool available = false;  // everything it reads exists under this profile
    bool fired = false;
    double latency_low = -1;
    bool quiet_when_healthy = false;
};

struct Row {
    exporters::Incident incident;
    std::vector<Cell> cells;  // by rule; empty when `trouble` is set
    exporters::Touched touched;
    std::string trouble;  // why it could not be judged
    int best = -1;        // the rule that noticed it first
    std::optional<Tried> suggestion;
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
    bool complete = true;  // false: stopped, or out of time
};

struct StudyOptions {
    int jobs = 2;
    bool suggest = true;
    external::Amtool* amtool = nullptr;
    std::atomic<bool>* stop = nullptr;  // once it is true, the study ends with what was judged so far
    double limit = 0;                   // seconds after which no further failure is played; 0 = none
    std::function<void(std::size_t done, std::size_t all, const std::string& last)> progress = {};
};

// Judges rules for Kubernetes where their labels exist, and notes why. For sites without a chosen profile.
void choose_profile(Study& study);

// Plays the healthy run and every incident, judges the cells. Errors: those of the player on the healthy run,
// unless that was stopped: the study is then incomplete, without rows.
scenarios::Result<void> conduct(Study& study, const std::vector<exporters::Incident>& incidents,
                                Player& player, const exporters::SignatureCatalog& signatures,
                                const StudyOptions& options);

// Lets another judge play `rows` drawn rows again, `alerts` drawn alerts of each, and returns where it
// disagrees; `asked` counts what was compared.
std::vector<std::string> confirm(const Study& study, Player& other, std::size_t rows, std::size_t alerts,
                                 const std::filesystem::path& scratch, std::size_t& asked);

// For a failure that no alert caught: an expression over existing metrics, tried on the failure and on the
// healthy run by the same judge before it is proposed.
scenarios::Result<void> suggest(Study& study, Player& player, const exporters::SignatureCatalog& signatures,
                                const std::function<bool()>& stopped = {});

// The expression with the names and jobs that this site uses.
std::string in_site_words(std::string expr, const exporters::World& world);

}  // namespace deadrank::results::alerts
