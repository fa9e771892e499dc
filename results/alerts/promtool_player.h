// results/alerts/promtool_player.h — Plays rules with promtool, from a generated test file.
#pragma once

#include <string>
#include <vector>

#include "results/alerts/activity.h"
#include "results/alerts/emitted.h"
#include "results/alerts/healthy_memory.h"
#include "results/alerts/series_matcher.h"
#include "results/alerts/study.h"
#include "results/exporters/incident.h"
#include "results/exporters/series.h"

namespace deadrank::results::alerts {

// Prometheus' own rule engine in virtual time: generated unit tests, rule files untouched.
class PromtoolPlayer final : public Player {
public:
    struct Options {
        std::filesystem::path directory;  // where the generated files stay
        std::string cache;                // where promtool's answers are remembered; empty = nowhere
        bool keep = true;                 // write the kept file, beside the edge file
        bool needed_only = false;         // no series that only its name makes a candidate
    };
    PromtoolPlayer(external::Promtool tool, Options options)
        : tool_(std::move(tool)), options_(std::move(options)) {}

    std::string name() const override { return "promtool " + tool_.version(); }
    scenarios::Result<PlayerAnswer> play(const exporters::World& world, const exporters::Incident& incident,
                                         const std::vector<RuleFile>& files, const std::vector<Rule>& rules,
                                         const StaticAnalysis& analysis) override;

    const external::Promtool& tool() const { return tool_; }
    const Options& options() const { return options_; }

private:
    scenarios::Result<std::vector<RuleFile>> reduced(const std::vector<RuleFile>& files,
                                                     const std::vector<Rule>& rules,
                                                     const std::vector<bool>& reused,
                                                     const std::string& id) const;

    external::Promtool tool_;
    Options options_;
    HealthyMemory healthy_;
};

// For both players, the history before the run begins at time 0, or at the world's epoch, and unix times
// count from there. Only the series that some rule may read; all of them when a rule selects without a name.
std::vector<exporters::Series> series_for(const exporters::World& world, const exporters::Incident& incident,
                                          const StaticAnalysis& analysis);

// Of these, the series that a selector of the asked rules can match.
std::vector<exporters::Series> series_for(const exporters::World& world, const exporters::Incident& incident,
                                          const std::vector<Rule>& rules, const StaticAnalysis& analysis,
                                          const std::vector<bool>& asked, const OnlyMetrics& only = {});

// ── Unit-test files for promtool. The edge file asks at each evaluation which alerts began or ended; the
// kept file states what was found, so that operators can commit it beside their rules.

struct TestInput {
    std::vector<std::string> rule_files;  // absolute paths
    std::string name;
    std::string series;  // the block of input_series, see series_block()
    exporters::Window window;
    double eval = 15;                      // of this run: a group's own interval, or the global one
    std::vector<std::string> groups = {};  // in the order in which they are evaluated
};

// Names of groups in the order of their files; promtool's own order is random.
std::vector<std::string> groups_of(const std::vector<Rule>& rules);

// The expected value of one expression at one time.
struct Expectation {
    std::string expr;
    double time = 0;                                      // since the run's start, without its history
    std::vector<std::pair<std::string, double>> samples;  // 'ALERTS{…}' or '{}' and its value
};

std::string series_block(const std::vector<exporters::Series>& series);
std::string edge_test(const TestInput& input);
std::string kept_test(const TestInput& input, const std::vector<Expectation>& expectations,
                      const std::string& why);

// Writes the kept file for each evaluation interval among the rules, without the rules that were not judged.
scenarios::Result<void> write_kept(const exporters::World& world, const exporters::Incident& incident,
                                   const std::vector<RuleFile>& files, const std::vector<Rule>& rules,
                                   const StaticAnalysis& analysis, const PlayerAnswer& played,
                                   const std::string& judge, const std::filesystem::path& directory);

// The file name for an incident.
std::string file_safe(std::string id);

// What promtool should find again for one rule: its firing instances when they began, or none at the end.
void expect_rule(const Rule& rule, const std::vector<Instance>& instances, const exporters::Window& window,
                 std::vector<Expectation>& expectations);

}  // namespace deadrank::results::alerts
