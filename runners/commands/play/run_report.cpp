// runners/commands/play/run_report.cpp — Prints a line as soon as all seeds of a scenario are done, and the
// stories of failures at the end.
#include "runners/commands/play/run_report.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <set>
#include <sys/resource.h>

#include "results/detectors/detector.h"
#include "results/record/words.h"
#include "results/reports/json_files.h"
#include "results/reports/resilience_table.h"
#include "results/reports/terminal.h"
#include "runners/commands/screen.h"

namespace deadrank::runners::commands {

using results::Case;
using results::Verdict;
using results::reports::Ink;

namespace {

constexpr long worth_mentioning = 128;  // MiB

long peak_mebibytes() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
}

}  // namespace

results::Scorecard scorecard_by(const std::string& by, const std::vector<Case>& cases,
                                const scenarios::Taxonomy& taxonomy, const results::Detectors& detectors) {
    if (by == "symptom") return results::score_by_symptom(cases);
    if (by == "stage") return results::score_by_stage(cases);
    if (by != "detector") return results::score_by_class(cases, taxonomy);
    std::vector<results::DetectorWords> words;
    for (const auto& detector : detectors) {
        const auto symptoms = detector->symptoms();
        words.push_back({std::string(detector->name()), {symptoms.begin(), symptoms.end()}});
    }
    return results::score_by_detector(cases, words);
}

RunReport::RunReport(const ReportOptions& options, const scenarios::Taxonomy& taxonomy,
                     const results::Detectors& detectors)
    : options_(options), taxonomy_(taxonomy), detectors_(detectors), style_(style_of(stdout)) {}

void RunReport::progress(std::size_t done, std::size_t all) {
    if (done < all) progress_.show(fmt::format("  {} of {}", done, all));
}

void RunReport::take(Case&& one, results::ResilienceCell&& standing) {
    const bool real = !standing.subject.name.empty();
    if (real) standings_.push_back(std::move(standing));
    if (options_.json) {
        progress_.clear();
        const std::string line = results::reports::json_line(one);
        print_out("{}\n", real ? results::reports::with_standing(line, standings_.back()) : line);
        flush_out();
    } else if (!options_.quiet) {
        if (!same_scenario_.empty() && same_scenario_.front().scenario != one.scenario) print_scenario();
        same_scenario_.push_back(one);
        if (same_scenario_.size() == options_.seeds) print_scenario();
    }
    cases_.push_back(std::move(one));
}

void RunReport::print_scenario() {
    if (same_scenario_.empty()) return;
    progress_.clear();
    const std::string& stage = same_scenario_.front().bug.stage;
    if (stage != stage_) print_out("{}{}\n", stage_.empty() ? "" : "\n", style_.paint(Ink::bold, stage));
    stage_ = stage;
    print_out("{}", results::reports::scenario_line(same_scenario_, options_.name_columns, style_));
    for (; told_ < standings_.size(); ++told_)
        print_out("{}", results::reports::standing_line(standings_[told_], style_));
    flush_out();
    same_scenario_.clear();
}

// One story per scenario; its other failing seeds get only their command.
void RunReport::print_failures() const {
    constexpr std::size_t stories_most = 12;
    std::set<std::string> told;
    std::size_t left = 0;
    for (const Case& one : cases_) {
        if (one.verdict == Verdict::pass || one.differs_as_documented() || !one.skipped.empty()) continue;
        if (told.size() >= stories_most || !told.insert(one.scenario).second) {
            ++left;
            continue;
        }
        print_out("\n{}", results::reports::failure_block(one, style_));
    }
    if (left == 0) return;
    print_out("\n  {}\n",
              style_.paint(Ink::dim, fmt::format("… and {} that did not pass; --json or --junit has all",
                                                 results::counted(left, "more trial"))));
}

// What the real processes ran on: a report must say whether there was a GPU, or a torch.
void RunReport::print_backends() const {
    std::set<std::string> told;
    for (const Case& one : cases_) {
        for (const std::string& note : one.notes) {
            if (note.starts_with("real processes: ") && told.insert(note).second)
                print_out("  {}\n", style_.paint(Ink::dim, note));
        }
    }
}

// One sentence for each thing that this machine lacks.
void RunReport::print_skipped() const {
    std::map<std::string, std::set<std::string>> lacking;
    for (const Case& one : cases_)
        if (!one.skipped.empty()) lacking[one.skipped].insert(one.scenario);
    for (const auto& [what, scenarios] : lacking)
        print_out("  {}\n", style_.paint(Ink::yellow,
                                          fmt::format("{} skipped: {}",
                                                      results::counted(scenarios.size(), "scenario"), what)));
}

void RunReport::finish(double seconds) {
    progress_.clear();
    if (options_.json) return;
    print_scenario();
    print_failures();
    const results::Scorecard card = scorecard();
    if (!options_.quiet && cases_.size() > 1) {
        print_out("\n{}", results::reports::scorecard_table(card, options_.by, style_));
    }
    print_out("{}{}", options_.quiet ? "" : "\n", results::reports::last_line(card, seconds, style_));
    const auto documented = static_cast<std::size_t>(std::count_if(
        cases_.begin(), cases_.end(), [](const Case& one) { return one.differs_as_documented(); }));
    if (documented > 0)
        print_out("  {}\n",
                  style_.paint(Ink::dim, fmt::format("{} more differ{} as documented and count{} neither way",
                                                     documented, documented == 1 ? "s" : "",
                                                     documented == 1 ? "s" : "")));
    print_skipped();
    if (!options_.quiet) print_backends();
    if (const long peak = peak_mebibytes(); peak >= worth_mentioning)
        print_out("  {}\n", style_.paint(Ink::dim, fmt::format("{} MiB of memory at most", peak)));
}

results::Scorecard RunReport::scorecard() const {
    std::vector<Case> counted;
    std::copy_if(cases_.begin(), cases_.end(), std::back_inserter(counted),
                 [](const Case& one) { return !one.differs_as_documented() && one.skipped.empty(); });
    return scorecard_by(options_.by, counted, taxonomy_, detectors_);
}

Verdict RunReport::worst() const {
    Verdict verdict = Verdict::pass;
    for (const Case& one : cases_) {
        if (!one.differs_as_documented() && one.skipped.empty())
            verdict = results::worse(verdict, one.verdict);
    }
    const bool none_played =
        !cases_.empty() &&
        std::all_of(cases_.begin(), cases_.end(), [](const Case& one) { return !one.skipped.empty(); });
    return none_played ? Verdict::unknown : verdict;
}

}  // namespace deadrank::runners::commands
