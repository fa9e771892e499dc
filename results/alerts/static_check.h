// results/alerts/static_check.h — What is wrong with a rule before it meets any series.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "results/alerts/emitted.h"
#include "results/alerts/rule.h"

namespace deadrank::results::alerts {

enum class Weight { note, warning, error };

struct StaticFinding {
    std::string id;  // "metric-off", "metric-unknown", "label-unknown", "label-value", "changing-labels", …
    Weight weight = Weight::warning;
    std::string file;
    int line = 0, column = 0;
    std::string alert;
    std::string says, remedy;
    bool kills = false;  // the selector it is about can never match
};

// What is known of one rule before anything runs.
struct RuleReads {
    Reads reads;
    std::set<std::string> metrics;  // read directly or through recording rules
    bool everything = false;
    double look_back = 0;  // how far into the past it reaches, in seconds
    bool dead = false;     // it can never fire under this profile
    std::string why_dead;
};

struct StaticAnalysis {
    std::vector<RuleReads> rules;  // in the order of the rules given
    std::vector<StaticFinding> findings;
    std::set<std::string> wanted;  // names that any rule may read: all other series need not be made
    bool everything = false;
    double look_back = 0;
};

StaticAnalysis analyse(const std::vector<Rule>& rules, const Emitted& emitted, const exporters::World& world);

// The same, wanting only the series that the asked rules may read.
StaticAnalysis narrowed(const StaticAnalysis& analysis, const std::vector<bool>& asked);

// How much healthy time must lie before the run so that each alert that can fire sees all that it looks back
// on, its `for` included, when the run begins. More of it changes no answer. In whole steps of the clock's
// grid, at most two weeks.
double history_needed(const std::vector<Rule>& rules, const StaticAnalysis& analysis,
                      const exporters::Window& window);

// The known misuses of one rule, beyond what does not exist.
void find_misuse(const Rule& rule, const Reads& reads, const Emitted& emitted,
                 std::vector<StaticFinding>& findings);

}  // namespace deadrank::results::alerts
