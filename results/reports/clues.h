// results/reports/clues.h — What a learner may look at: the lines of a run that differ between ranks, or from
// a healthy one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/record/evidence.h"

namespace deadrank::results::reports {

struct Clue {
    std::string title;
    std::vector<std::string> lines;
};

// `good`: the same job when it was healthy, if there is one.
std::vector<Clue> clues(const Evidence& evidence, const Evidence* good);

// Its parts; empty if there is nothing to see. In the first two, ranks that a reader of that part could not
// tell apart share a row.
Clue picture_clue(const Evidence& evidence);                           // ranks by time, in letters
Clue rank_clue(const Evidence& evidence);                              // last step, last call, end
Clue log_clue(const Evidence& evidence, std::size_t lines_most = 24);  // what was printed
Clue difference_clue(const Evidence& evidence);                        // settings that not all ranks share
std::vector<Clue> value_clues(const Evidence& evidence, const Evidence* good);
std::vector<Clue> data_clues(const Evidence& evidence, const Evidence* good);
std::vector<Clue> machine_clues(const Evidence& evidence, const Evidence* good);

// "ranks 0-3,7", "the job".
std::string who_text(const std::vector<Rank>& ranks);

}  // namespace deadrank::results::reports
