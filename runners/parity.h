// runners/parity.h — One scenario in the simulator and for real: do the same findings come of both? Times and
// texts may differ; who is said to be ill, and of what, may not, unless the scenario says why.
#pragma once

#include <set>
#include <string>

#include "runners/line.h"

namespace deadrank::runners {

enum class Parity { agree, explained, differ, not_played };
std::string_view name_of(Parity parity);

struct Compared {
    std::string scenario;  // id
    Parity parity = Parity::not_played;
    std::set<std::string> simulated, real;  // "collective_mismatch_error (rank 1)"
    std::string why;  // the scenario's [parity] of that backend; or why it could not be played
};

// Both play the same draws. Beyond `ranks_most` both play on that many.
Compared compare(const scenarios::Scenario& scenario, scenarios::Seed seed, Runner& sim, Runner& reality,
                 std::int64_t ranks_most, const scenarios::Vocabulary& vocabulary,
                 const LineOptions& options = {});

std::string listed(const std::set<std::string>& findings);  // "nothing" where there are none

struct ParityRate {
    std::size_t agreed = 0, explained = 0, differed = 0, not_played = 0;

    void add(Parity parity);
    std::size_t played() const { return agreed + explained + differed; }
    std::string text(std::string_view backend) const;  // "34 of 36 scenarios …"
};

}  // namespace deadrank::runners
