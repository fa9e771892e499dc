// results/alerts/static_check.h — What is wrong with a rule before it meets any series.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "results/alerts/emitted.h"
#include "results/alerts/rule.h"

namespace deadrank::results::alerts {

enum class Weight { note, warning, error };

// Why a rule can never fire here. The first four are faults of the rules or of their set-up; the others only
// mean that this run does not simulate the target.
enum class DeadKind {
    none,
    misspelled,       // nearly the name of something that exists
    named_otherwise,  // a metric, label or value that has another name here
    off_by_default,   // a stock exporter does not show it
    contradiction,    // a join that never meets, a threshold out of reach
    not_simulated,    // from an exporter that this run lacks
    nobody,           // from no known exporter
};
std::string_view name_of(DeadKind kind);
bool is_fault_of_rule(DeadKind kind);

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

// A selector that can make a rule fire, and which way it must then move: up (1), down (-1), or either (0).
struct Wish {
    Selector selector;
    int direction = 0;
};

// What is known of one rule before anything runs.
struct RuleReads {
    Reads reads;
    std::set<std::string> metrics;  // read directly or through recording rules
    bool everything = false;
    double look_back = 0;  // how far into the past it reaches, in seconds
    bool dead = false;     // it can never fire under this profile
    DeadKind dead_kind = DeadKind::none;
    std::string why_dead, remedy;
    std::vector<Wish> wishes;  // through recording rules too
};

struct StaticAnalysis {
    std::vector<RuleReads> rules;  // in the order of the rules given
    std::vector<StaticFinding> findings;
    std::set<std::string> wanted;  // names that any rule may read: no other series need be made
    bool everything = false;
    double look_back = 0;
};

StaticAnalysis analyse(const std::vector<Rule>& rules, const Emitted& emitted, const exporters::World& world);

// The same, but `wanted` has only the series that the asked rules may read.
StaticAnalysis narrowed(const StaticAnalysis& analysis, const std::vector<bool>& asked);

// The healthy time needed before the run so that each alert that can fire sees all that it looks back on, its
// `for` included, when the run begins; more changes no answer. In steps of the clock's grid, at most 2 weeks.
double history_needed(const std::vector<Rule>& rules, const StaticAnalysis& analysis,
                      const exporters::Window& window);

// What the asked rules read, directly or through recording rules; empty when any of them may read anything.
std::optional<std::set<std::string>> read_by(const StaticAnalysis& analysis, const std::vector<bool>& asked);

// The history that the asked alerts alone need.
double history_needed(const std::vector<Rule>& rules, StaticAnalysis analysis,
                      const exporters::Window& window, const std::vector<bool>& asked);

// Which way each selector of an expression must move for it to have a value.
std::vector<Wish> wishes_of(const Expression& tree);

// Decides for each rule whether its expression can have a value at all, by evaluating it over the label sets
// that exist, and says what is wrong where it cannot.
class Existence {
public:
    Existence(const std::vector<Rule>& rules, const Emitted& emitted, const exporters::World& world)
        : rules_(rules), emitted_(emitted), world_(world) {}

    void check(const Rule& rule, RuleReads& out, std::vector<StaticFinding>& findings);

private:
    // The most that an expression can be: its label sets, or why there are none.
    struct Shape {
        bool scalar = false;
        bool unknown = false;  // has series, but their labels are not known
        std::vector<exporters::Labels> series;
        DeadKind kind = DeadKind::none;
        std::string why, remedy;

        bool empty() const { return !scalar && !unknown && series.empty(); }
    };

    Shape shape_of(const Expression& tree);
    Shape of_selector(const Selector& selector);
    Shape of_recorded(const std::string& name, const Selector& selector);
    Shape of_call(const Expression& tree);
    Shape of_aggregate(const Expression& tree);
    Shape of_binary(const Expression& tree);
    Shape joined(const Expression& tree, const Shape& left, const Shape& right);
    Shape nothing(const std::string& id, Weight weight, DeadKind kind, std::string says, std::string remedy);
    Shape no_metric(const std::string& name);
    Shape no_series(const Selector& selector, const Matcher& matcher);
    Shape no_label(const Selector& selector, const Matcher& matcher, const std::set<std::string>& names);
    void check_threshold(const Expression& tree);
    void tell(const std::string& id, Weight weight, DeadKind kind, std::string says, std::string remedy);

    const std::vector<Rule>& rules_;
    const Emitted& emitted_;
    const exporters::World& world_;
    const Rule* rule_ = nullptr;  // the one being checked
    std::vector<StaticFinding> said_;
    std::map<std::string, Shape> recorded_;  // by name of the recorded metric
    int depth_ = 0, quiet_ = 0;              // in recording rules; inside of absent()
};

// Known misuses in one rule, apart from reading what does not exist.
void find_misuse(const Rule& rule, const Reads& reads, const Emitted& emitted, double scrape,
                 std::vector<StaticFinding>& findings);

}  // namespace deadrank::results::alerts
