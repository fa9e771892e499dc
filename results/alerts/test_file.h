// results/alerts/test_file.h — The files that promtool judges: rules, series, and what is asked when.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "results/alerts/activity.h"
#include "results/exporters/incident.h"
#include "results/exporters/series.h"

namespace deadrank::results::alerts {

// A recording rule of deadrank's own, evaluated after all others.
struct Probe {
    std::string name, expr;
};

// The kept rules in a form of which Prometheus reads the same, without annotations: no alert depends on them,
// and promtool renders them for each firing instance at each step. With `marked`, each alert has its number
// as a further label, so that alerts of one name can be told apart.
std::string rules_text(const std::vector<Rule>& rules, const std::vector<bool>& kept,
                       const std::vector<Probe>& probes, bool marked = false);

// Names of the groups in that file, in the order in which they are evaluated; promtool's own order is random.
std::vector<std::string> groups_of(const std::vector<Rule>& rules);

inline constexpr const char* rule_mark = "deadrank_rule";
inline constexpr const char* probe_prefix = "deadrank_probe_";

struct TestInput {
    std::vector<std::string> rule_files;  // absolute paths
    std::string name;
    std::string series;  // the block of input_series, see series_block()
    exporters::Window window;
    double eval = 15;  // of this run: a group's own interval, or the global one
    std::vector<std::string> groups = {};
    bool probes = false;
};

// The expected value of one expression at one time.
struct Expectation {
    std::string expr;
    double time = 0;                                      // since the run's start, without its history
    std::vector<std::pair<std::string, double>> samples;  // 'ALERTS{…}' or '{}' and its value
};

std::string in_single_quotes(const std::string& text);
std::string series_block(const std::vector<exporters::Series>& series);

// Asks at each evaluation which alerts began or ended, and for the value of each probe.
std::string edge_test(const TestInput& input);

// States what was found, so that operators can commit it beside their rules.
std::string kept_test(const TestInput& input, const std::vector<Expectation>& expectations,
                      const std::string& why);

// What promtool should find again for one rule: its firing instances when they began, or none at the end.
void expect_rule(const Rule& rule, const std::vector<Instance>& instances, const exporters::Window& window,
                 std::vector<Expectation>& expectations);

// The file name for an incident.
std::string file_safe(std::string id);

}  // namespace deadrank::results::alerts
