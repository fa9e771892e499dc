// results/reports/page.h — The report as one HTML file that needs no network.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/judging/case.h"
#include "results/judging/resilience.h"
#include "results/judging/scorecard.h"
#include "results/reports/json_files.h"
#include "results/reports/run_view.h"

namespace deadrank::results::reports {

// The hand-written parts of the page, embedded when the program is built.
// By file name in results/reports/html: "page.html", "timeline.js"; empty when there is none.
std::string_view asset(std::string_view name);

// The data inside a page that Page wrote, as JSON text; empty if it is no such page.
std::string_view data_of_page(std::string_view html);

// ── report.html: one file that needs no network, with the scorecard, every case and its runs. A case is
// added while its evidence is in memory, and kept as finished text.

// What a scenario says to people, if anything.
struct CaseWords {
    std::string title, story, fix;
};

// How a program ended that met faults at each rank and moment, as rows and columns.
struct MomentCell {
    std::string outcome;  // in words: "silent wrong result"
    std::string sign;     // one column wide
    bool bad = false;
    std::string where;  // "rank 3, before all_reduce 7, step 2"
    std::string says, again;
    std::int64_t place = -1;  // of the case on this page that shows such a run; -1 = none
};
struct MomentRow {
    std::string fault, ranks;  // "kill", "rank 3"
    std::vector<std::optional<MomentCell>> cells;
    std::size_t runs = 1;  // that each cell stands for: one for each rank of the row
};
struct MomentMap {
    std::vector<std::string> columns;  // "all_reduce 7, step 2"
    std::vector<MomentRow> rows;
};

class Page {
public:
    // Any thread may add a case; `place` orders them.
    void add(std::size_t place, const Case& one, const CaseWords& words, const std::vector<SeenRun>& runs);

    // A run of which only its evidence is shown: the timeline and what was printed, without scenario, faults,
    // alarms and who waits for whom. For learners, before they have answered.
    void add_blind(std::size_t place, const CaseWords& words, std::uint64_t seed, const Evidence& evidence);

    // How a program under test reacted to a bug: a cell of the page's table. `place` is its case's, if the
    // page has that case. Runs without a program, as in the simulator, are left out.
    void stand(std::size_t place, const ResilienceCell& standing);

    // A program's faults at each rank and moment, shown first; each cell leads to a run of this page.
    void show_moments(const MomentMap& map);

    // `card` counts what was added; `headline` says what was asked for. Errors: io.
    scenarios::Result<void> write(const std::filesystem::path& file, const Scorecard& card,
                                  const std::string& by, const std::string& headline) const;
    std::string html(const Scorecard& card, const std::string& by, const std::string& headline) const;

private:
    mutable std::mutex mutex_;
    std::string cases_text() const;
    std::string standings_text() const;

    std::string moments_ = "null";
    std::map<std::size_t, std::string> cases_, standings_;  // JSON; a standing's last brace is still missing
};

// How a program reacted to a bug: a cell of the page's table, in a JSON form that only the page reads.
// Without its case's number on the page, which is known last.
Json standing_view(const ResilienceCell& standing);

}  // namespace deadrank::results::reports
