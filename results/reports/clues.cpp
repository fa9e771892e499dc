// results/reports/clues.cpp — The order in which they are shown: the whole first, then what is odd in
// it.
#include "results/reports/clues.h"

#include <fmt/format.h>
#include <iterator>

#include "results/text/words.h"

namespace deadrank::results::reports {

std::string who_text(const std::vector<Rank>& ranks) {
    if (ranks.empty() || ranks.front() == no_rank) return "the job";
    return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", ranges_text(ranks));
}

std::vector<Clue> clues(const Evidence& evidence, const Evidence* good) {
    std::vector<Clue> all = {picture_clue(evidence), rank_clue(evidence), log_clue(evidence),
                             difference_clue(evidence)};
    for (auto part :
         {value_clues(evidence, good), data_clues(evidence, good), machine_clues(evidence, good)}) {
        std::move(part.begin(), part.end(), std::back_inserter(all));
    }
    std::erase_if(all, [](const Clue& clue) { return clue.lines.empty(); });
    return all;
}

}  // namespace deadrank::results::reports
