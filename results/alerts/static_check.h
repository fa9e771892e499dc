// results/alerts/static_check.h — What a rule mentions, and known misuses, before it meets any series.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "results/alerts/emitted.h"
#include "results/alerts/rule.h"

namespace deadrank::results::alerts {

enum class Weight { note, warning, error };

// Why a rule cannot fire here, and whose matter that is.
enum class DeadKind {
    none,
    misspelled,       // nearly the name of something that exists
    named_otherwise,  // a metric or label that has another name here
    off_by_default,   // a stock exporter does not show it
    contradiction,    // a join that never meets, a matcher that excludes everything
    out_of_reach,     // a threshold that its metric never passes
    range_too_short,  // a range that holds less than two scrapes
    your_names,       // the site's own name of a job, a host, a disk, …: a name map can say it
    not_simulated,    // from an exporter that this run lacks
    nobody,           // from no known exporter
};
std::string_view name_of(DeadKind kind);

// The three answers that a report gives about a rule that cannot fire here.
enum class Silence { none, never, your_names, not_simulated };
Silence silence_of(DeadKind kind);

struct StaticFinding {
    std::string id;  // "metric-off", "metric-unknown", "label-unknown", "label-value", "changing-labels", …
    Weight weight = Weight::warning;
    std::string file;
    int line = 0, column = 0;
    std::string alert;
    std::string says, remedy;
    bool kills = false;  // the selector it is about can never match
    DeadKind kind = DeadKind::none;
};

// What is known of one rule before anything runs.
struct RuleReads {
    Reads reads;
    std::set<std::string> metrics;  // read directly or through recording rules
    std::set<std::string> names;    // every word, so that no metric is missing; through recording rules too
    bool everything = false;        // it may read any series
    bool states = false;            // it reads the state of alerts
    double look_back = 0;           // how far into the past it reaches, in seconds
    std::map<std::string, double> reach;  // the same, by metric
    std::vector<Threshold> thresholds;

    DeadKind dead_kind = DeadKind::none;  // said by explain_silence()
    std::string why_dead, remedy;
    std::string slip, meant;  // a metric's name, and the known one that it misspells
    // What it expects to be there, by absent() or `unless`, and what this run lacks without a fault of the
    // rule.
    struct Unseen {
        DeadKind kind = DeadKind::none;
        std::string says, remedy;
        bool all = false;  // and it reads nothing else that this run has
    } unseen;
    bool dead() const { return dead_kind != DeadKind::none; }
};

struct StaticAnalysis {
    std::vector<RuleReads> rules;  // in the order of the rules given
    std::vector<StaticFinding> findings;
};

StaticAnalysis analyse(const std::vector<Rule>& rules, const Emitted& emitted);

// Does its range hold less than two scrapes, so that a call that compares samples has none to compare? Where
// scrapes and evaluations come at the same instants, as in a unit test, one more fits in: no server has that.
bool has_short_range(const Selector& selector, double scrape);
std::string too_little_text(const Selector& selector, double scrape);

// Known misuses in one rule, apart from reading what does not exist.
void find_misuse(const Rule& rule, const RuleReads& what, const Emitted& emitted,
                 std::vector<StaticFinding>& findings);

}  // namespace deadrank::results::alerts
