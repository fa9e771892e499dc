// results/alerts/test_file.h — Unit-test files for promtool. The edge file asks at each evaluation which
// alerts began or ended; the kept file states what was found, so that the operator can commit it beside her
// rules.
#pragma once

#include <string>
#include <vector>

#include "results/alerts/activity.h"
#include "results/exporters/incident.h"
#include "results/exporters/series.h"

namespace deadrank::results::alerts {

struct TestInput {
    std::vector<std::string> rule_files;  // absolute paths
    std::string name;
    std::string series;  // the block of input_series, see series_block()
    exporters::Window window;
    double eval = 15;  // of this run: a group's own interval, or the global one
};

// What is expected of one expression at one time.
struct Expectation {
    std::string expr;
    double time = 0;                                      // since the run's start, without its history
    std::vector<std::pair<std::string, double>> samples;  // 'ALERTS{…}' or '{}' and its value
};

std::string series_block(const std::vector<exporters::Series>& series);
std::string edge_test(const TestInput& input);
std::string kept_test(const TestInput& input, const std::vector<Expectation>& expectations,
                      const std::string& why);

// What promtool should find again of one rule: its firing instances when they began, or their absence at the
// end.
void expect_rule(const Rule& rule, const std::vector<Instance>& instances, const exporters::Window& window,
                 std::vector<Expectation>& expectations);

}  // namespace deadrank::results::alerts
