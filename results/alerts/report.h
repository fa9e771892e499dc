// results/alerts/report.h — A study as text for a terminal, as JSON, as JUnit and as SARIF.
#pragma once

#include <string>
#include <vector>

#include "results/alerts/policy.h"
#include "results/alerts/study.h"
#include "results/reports/style.h"

namespace deadrank::results::alerts {

struct TextOptions {
    bool explain = false;  // a sentence for each cell that has one
    bool all = false;      // every entry of each list, and not those alone that fit a screen
};

// The fault × alert matrix within 80 columns, what was missed and what would have fired, what is wrong with
// the rules.
std::string text_report(const Study& study, const Policy& policy, const std::vector<Breach>& breaches,
                        const reports::Style& style, const TextOptions& options);

// A page with the rules by severity, and how near each came to its threshold.
std::string page_report(const Study& study, const Policy& policy, const std::vector<Breach>& breaches);

std::string json_report(const Study& study, const Policy& policy, const std::vector<Breach>& breaches);

// Cases for each alert, for each failure, and for cells that are not judged or that a policy forbids. A case
// is named by what it asks: a demand of the policy, or else that there was a judgement. Each breach fails one
// case, and only what was not judged is skipped, with its reason.
std::string junit_report(const Study& study, const Policy& policy, const std::vector<Breach>& breaches);

// Static findings and the alerts that fire on the healthy run, at their lines, for code review.
std::string sarif_report(const Study& study);

// "+2:30", "late", "miss", …: what a cell of the matrix shows, at most seven columns.
std::string cell_code(const Cell& cell);

// What became of the failure as a whole.
enum class RowOutcome { unknown, missed, caught, caught_late };
constexpr auto enum_words(RowOutcome) {
    return std::to_array<std::string_view>({"unknown", "missed", "caught", "caught late"});
}
RowOutcome outcome_of(const Row& row);

// "3 of 45 failures caught in time, 40 not judged"
std::string caught_text(const Study& study, std::size_t caught);

}  // namespace deadrank::results::alerts
