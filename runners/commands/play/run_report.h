// runners/commands/play/run_report.h — What `deadrank run` prints while trials arrive, and what it writes at
// the end.
#pragma once

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "results/detectors/detector.h"
#include "results/judging/case.h"
#include "results/judging/resilience.h"
#include "results/judging/scorecard.h"
#include "runners/commands/screen.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::runners::commands {

struct ReportOptions {
    bool json = false;
    bool quiet = false;  // only failures and the last line
    std::size_t seeds = 1;
    std::size_t name_columns = 40;  // width of the longest name
    std::string by = "class";       // what a row of the scorecard is: class, symptom, stage, detector
};

// `by` is one of the four words; any other counts as class.
results::Scorecard scorecard_by(const std::string& by, const std::vector<results::Case>& cases,
                                const scenarios::Taxonomy& taxonomy, const results::Detectors& detectors);

class RunReport {
public:
    // All three outlive the report.
    RunReport(const ReportOptions& options, const scenarios::Taxonomy& taxonomy,
              const results::Detectors& detectors);

    void progress(std::size_t done, std::size_t all);
    // `standing`: how a real program reacted; without a name if none was under test.
    void take(results::Case&& one, results::ResilienceCell&& standing = {});
    // Prints what is left: the last scenario, the failures, the scorecard.
    void finish(double seconds);

    const std::vector<results::Case>& cases() const { return cases_; }
    const std::vector<results::ResilienceCell>& standings() const { return standings_; }
    results::Verdict worst() const;
    results::Scorecard scorecard() const;  // with the rows that were asked for

private:
    void print_scenario();
    void print_failures() const;
    void print_skipped() const;
    void print_backends() const;

    const ReportOptions options_;
    const scenarios::Taxonomy& taxonomy_;
    const results::Detectors& detectors_;
    const results::reports::Style style_;
    Progress progress_;
    std::vector<results::Case> cases_;
    std::vector<results::ResilienceCell> standings_;  // of the real programs under test
    std::size_t told_ = 0;                            // how many of them were printed
    std::vector<results::Case> same_scenario_;        // the seeds seen so far of the scenario under way
    std::string stage_;
};

}  // namespace deadrank::runners::commands
