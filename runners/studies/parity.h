// runners/studies/parity.h — One scenario in the simulator and for real: do the same findings come of both?
// Times and texts may differ; who is said to be ill, and of what, may not, unless the scenario says why.
#pragma once

#include <set>
#include <string>

#include "runners/line/line.h"

namespace deadrank::runners {

enum class Parity { agree, explained, differ, not_played };
std::string_view name_of(Parity parity);

struct Compared {
    std::string scenario;  // id
    Parity parity = Parity::not_played;
    std::set<std::string> simulated, real;  // "collective_mismatch_error (rank 1)"
    std::string why;        // the scenario's [parity] of that backend; or why it could not be played
    std::string played_on;  // "4 ranks"

    // A reason for a difference that is not there any more.
    bool stale() const { return parity == Parity::agree && !why.empty(); }
};

// Whether the backend would play all of the scenario, as far as paper shows: nothing is started. Empty, or
// why not.
std::string why_not_on_paper(const scenarios::Scenario& scenario, scenarios::Seed seed, Runner& reality,
                             std::int64_t ranks_most, const scenarios::Vocabulary& vocabulary);

// A reason without what stands in quotes and without numbers, so that alike ones can be counted.
std::string kind_of_reason(std::string_view why);

// The verdict from its findings, and the reason that its scenario has for a difference, if any.
void conclude(Compared& compared, const std::string& reason);

// Both play the same draws. Beyond `ranks_most` both play on that many.
Compared compare(const scenarios::Scenario& scenario, scenarios::Seed seed, Runner& sim, Runner& reality,
                 std::int64_t ranks_most, const scenarios::Vocabulary& vocabulary,
                 const LineOptions& options = {});

// The simulator's side alone, of a scenario that the backend can play: what it finds in what both would play.
std::set<std::string> simulated_findings(const scenarios::Scenario& scenario, scenarios::Seed seed,
                                         Runner& sim, Runner& reality, std::int64_t ranks_most,
                                         const scenarios::Vocabulary& vocabulary);

std::string listed(const std::set<std::string>& findings);  // "nothing" where there are none

struct ParityRate {
    std::size_t agreed = 0, explained = 0, differed = 0, not_played = 0;

    void add(Parity parity);
    std::size_t played() const { return agreed + explained + differed; }
    std::string text(std::string_view backend) const;  // "34 of 36 scenarios …"
};

}  // namespace deadrank::runners
