// results/alerts/promtool_runs.h — Which alerts are asked in which run of promtool.
#pragma once

#include <string>
#include <vector>

#include "results/alerts/static_check.h"
#include "results/exporters/render.h"

namespace deadrank::results::alerts {

// One run of promtool. It has one interval of evaluation and one length of history, so that rules of other
// intervals, and those that look back for hours or days, have runs of their own.
struct Part {
    std::vector<bool> asked;  // alerts, by rule
    double eval = 15;
    double history = 0;
    double hold_most = 0;
    bool whole = false;  // with all rules, since the asked ones read the state of alerts or any series
    double sparse =
        0;             // the interval of samples in the history, until an hour before the run; 0 = as scraped
    std::string name;  // for the files of this run; empty for the most usual one
};

// The alerts that an incident can change: it changes a series whose name they mention, or one that they reach
// through recording rules, or they read any series or the state of others. For all other alerts the input is
// the same as in the healthy run, and so is the answer.
std::vector<bool> reached_by(const exporters::Touched& touched, const std::vector<Rule>& rules,
                             const StaticAnalysis& analysis);

// `hold_most`: how much of a long `for` the history holds. An alert that is not pending when the run begins
// needs no more.
std::vector<Part> parts_of(const std::vector<bool>& asked, const std::vector<Rule>& rules,
                           const StaticAnalysis& analysis, const exporters::Window& window, double hold_most);

// The rules that the run evaluates: those that are asked, and what they read.
std::vector<bool> rules_in(const Part& part, const std::vector<Rule>& rules, const StaticAnalysis& analysis);

// The series that they may read, each as far back as it is read. Times count from the start of the history,
// on promtool's clock.
std::vector<exporters::Series> series_of(const Part& part, exporters::World world,
                                         const exporters::Incident& incident, const std::vector<Rule>& rules,
                                         const StaticAnalysis& analysis);

}  // namespace deadrank::results::alerts
