// runners/serve/served_run.h — One run of some rules on a server: what they record, the conditions of alerts,
// and the states that rules about ALERTS read.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "results/alerts/healthy_memory.h"
#include "results/alerts/study.h"
#include "runners/serve/needed_series.h"
#include "runners/serve/server_pool.h"

namespace deadrank::runners::serve {

// For each rule and the labels of its alert: the evaluations at which its condition held, in seconds of the
// run. Rules that tell each metric by itself (OnlyMetrics) have its name among the labels.
using Conditions = std::vector<std::map<std::map<std::string, std::string>, std::vector<double>>>;

// What is known of a run before a server is asked: what the healthy run showed, and until when that holds.
struct Known {
    const Conditions* before = nullptr;
    double until = 0;

    bool resumed() const { return before != nullptr; }
};

// What a run is asked.
struct Question {
    const std::vector<results::alerts::Rule>& rules;
    const results::alerts::StaticAnalysis& analysis;
    const results::alerts::OnlyMetrics& only;
    const Known& known;
    std::vector<bool> asked;  // by rule
    double longest = 0;       // how far before the run a `for` is followed
};

// Server times are run times plus the history before the run.
class ServedRun {
public:
    // Adds to `held` (of all rules; those of earlier runs are the states that readers of ALERTS see) and to
    // `played`.
    ServedRun(Stretch& server, const Question& question, const results::exporters::Window& window,
              Conditions& held, results::alerts::PlayerAnswer& played);

    scenarios::Result<void> ask_all();

    // Rules whose condition held all the time that was followed, so that it is not known for how long: they
    // have no answer.
    const std::vector<bool>& undecided() const { return undecided_; }

private:
    using Range = scenarios::Result<std::vector<RangeSeries>>;

    scenarios::Result<void> ask_about_alerts();
    double states_from(double step) const;
    void add_states(std::size_t index, SeriesByLabels& states) const;
    double step_of(const results::alerts::Rule& rule) const;
    scenarios::Result<void> record_after_its_own(std::size_t index, std::vector<bool>& recorded);
    scenarios::Result<void> record(const std::vector<std::size_t>& together);
    void add_recorded(const results::alerts::Rule& rule, const std::vector<RangeSeries>& found, double begin,
                      std::size_t points, SeriesByLabels& all) const;
    scenarios::Result<void> write_new(SeriesByLabels& all, double start, double step);
    void unjudged(std::size_t index, const std::string& words);
    const Range& condition(const std::string& expr, double first, double step);
    double take_over(std::size_t index, double step);
    scenarios::Result<void> alert(std::size_t index);
    bool add_conditions(std::size_t index, const std::vector<RangeSeries>& found);
    bool held_throughout(std::size_t index, double step) const;
    void tell(std::size_t index);

    Stretch& server_;
    const Question& question_;
    const std::vector<results::alerts::Rule>& rules_;
    const results::alerts::StaticAnalysis& analysis_;
    const results::exporters::Window& window_;
    Conditions& held_;
    results::alerts::PlayerAnswer& played_;
    std::vector<bool> undecided_;
    std::vector<double> reach_;  // by rule: how long before the run what it records is read
    std::set<std::pair<std::string, results::exporters::Labels>> written_;  // by rules and alerts
    std::map<std::string, Range> answers_;  // of expressions that several alerts have
};

}  // namespace deadrank::runners::serve
