// results/judging/given_ranks.h — RANK as the launcher gave it. Events name processes: where ranks 0 and 1 are exchanged,
// process 0 has the results of rank 1.
#pragma once

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>

#include "results/record/evidence.h"

namespace deadrank::results {

class GivenRanks {
public:
    explicit GivenRanks(const Evidence& evidence) : evidence_(&evidence) {}

    void start(Rank process, const RankStart& start) { given_[process] = rank_in(start, process); }
    Rank of(Rank process) const {
        const auto given = given_.find(process);
        return given == given_.end() ? process : given->second;
    }

private:
    Rank rank_in(const RankStart& start, Rank process) const {
        std::string_view lines = evidence_->text(start.environment);
        while (!lines.empty()) {
            const std::string_view line = lines.substr(0, lines.find('\n'));
            lines.remove_prefix(std::min(line.size() + 1, lines.size()));
            Rank rank = no_rank;
            if (!line.starts_with("RANK=")) continue;
            const auto [end, error] = std::from_chars(line.data() + 5, line.data() + line.size(), rank);
            if (error == std::errc() && end == line.data() + line.size()) return rank;
        }
        return process;
    }

    const Evidence* evidence_;
    std::map<Rank, Rank> given_;  // by process
};

}  // namespace deadrank::results
