// runners/manual/expect_page.cpp — What to expect: for each symptom who is named, and how soon. What stands
// in the last column was played for the page.
#include <algorithm>
#include <fmt/format.h>

#include "results/record/words.h"
#include "runners/manual/manual_pages.h"
#include "runners/manual/markdown.h"
#include "runners/manual/symptom_rows.h"
#include "scenarios/model/python_program.h"

namespace deadrank::runners::manual {

using scenarios::BlameField;

namespace {

constexpr std::string_view opening = R"(# What to expect

For who writes `[expect]`: what is told of a trouble, about whom, in which step and how soon. The words by
which a line of a log is known are [those of the detectors](detectors.md#words-that-are-known), what a
program's own tellings become has [the page of programs](workloads/python.md). The
examples were played for this page under seed 1: a scenario of the catalogue, or four ranks on two nodes that
do this in each step. Their times count from the fault, or from the start of the job.

**Whom.** The ranks at fault, as a reader of the log would name them, and no others: who is missing, and not
who waits; who is odd, where most are alike; both sides, where neither is the larger one; all, where all do
it. `blames = ["rank"]` is met by exactly these. `blames = []` is met by any finding of the symptom: take it
where the fault's ranks are not those that show, or say those in `rank`.

**Which step.** The one in which the ranks that are named were: of a rank that waits, of one that raised, of
the first wrong value. Trouble of start-up has none, nor has what is told of memory or of a restart.

**One of several.** Of findings about one event the one nearest to its root stands:

- an error of start-up before all others; what starts up late, or is a peer's wait, follows from it
- an error that says what it is about before an exception without known words, and that one before a broken
  connection, a time-out, a standstill; within a second the more specific one, else the earlier one
- what follows from an error stands in its finding as `followed_by`: a crash whose peers then wait, or run
  into their time-out, meets `symptom = "collective_deadlock_hang"`, or `"collective_timeout_abort"`, too
- a standstill that ends is none. Where it ends with an error of those who waited, that error is told, when it
  comes: a time-out at the store, the watchdog, a late exception
- an error that a rank catches is none; if it then leaves a call out, that standstill is told
- values that are wrong in the step of a crash or a standstill are hidden by it, those of an earlier step are
  told beside it. Of values the earliest step stands; in one step a digest, then a check, a loss, a reference,
  what was restored, samples
- a wrong variable or version is told with the breakage that it leads to, and never alone

**How soon.** `within` counts from the fault. `within = "60s"`, as where none is stated, is too short for all
that waits: 2 min for a standstill, 11 min for the watchdog's, 6 min for `store_timeout`, or more than the
scenario states of them. A line in the log of a rank that waits, or is missing, puts the alarm off, unless it
says again what was said, equal but for times in it: "still waiting after 20 s".

**A variable** is found where ranks differ in it, where a library refuses its value in so many words, or where
it can have no meaning in this job; `[expect] blames = ["variable"]` otherwise fails.
)";

std::string example_cell(const Library& library, const SymptomRow& row) {
    std::string text = fmt::format("`{}`", row.scenario);
    if (row.scenario.empty()) {
        text.clear();
        std::string_view rest = row.program;
        while (!rest.empty()) {
            const auto end = rest.find('\n');
            text += fmt::format("{}`{}`", text.empty() ? "" : "<br>", cell(rest.substr(0, end)));
            rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
        }
        if (!row.cluster.empty()) text += fmt::format(" with `{}`", row.cluster);
        return fmt::format("{}: {}", text, row.names);  // a test plays it where there is torch
    }
    const auto scenario = load_scenario(library, library.catalog / fmt::format("{}.toml", row.scenario));
    if (scenario && scenario->workload_kind == scenarios::python_workload)
        return text;  // this page needs no torch
    const auto example = play_symptom_example(library, row);
    if (!example) return text;
    const std::string who = results::blame_text(
        example->finding.blame,
        {BlameField::rank, BlameField::step, BlameField::variable, BlameField::component});
    return fmt::format(
        "{}: {}, {}", text, cell(who),
        example->after.count() <= 0 ? "at once" : "after " + results::duration_text(example->after));
}

}  // namespace

std::string expect_page(const Library& library) {
    std::string text(opening);
    std::string_view part;
    for (const SymptomRow& row_of : symptom_rows()) {
        if (row_of.part != part)
            text += fmt::format("\n## {}\n\n", row_of.part) +
                    heading_row({"symptom", "what shows", "who is named", "how soon", "for example"});
        part = row_of.part;
        text += row({fmt::format("`{}`", id_of(row_of.symptom)), cell(row_of.shows), cell(row_of.who),
                     cell(row_of.soon), example_cell(library, row_of)});
    }
    return text;
}

}  // namespace deadrank::runners::manual
