// results/facts/meetings.h — Which processes meet in calls while they train, directly or through others.
// Those that never do are jobs of their own.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "results/record/evidence.h"

namespace deadrank::results::detectors {

class Meetings {
public:
    // By the calls from each rank's first step on; meeting in set-up is not training together.
    Meetings(const Evidence& evidence, Time until);
    // By the calls within each rank's steps: meeting after the last one is not training together either.
    explicit Meetings(const Evidence& evidence);

    // The number of a process's part; the same for all that meet.
    std::size_t of(Rank process) const;
    // Whether a process meets anybody.
    bool meets(Rank process) const;
    std::size_t count() const { return members_.size(); }

private:
    Meetings(const Evidence& evidence, Time from, const std::map<Rank, Time>& until, Time until_at_most);

    std::vector<std::size_t> part_of_;
    std::map<std::size_t, std::size_t> members_;  // how many, by part
};

}  // namespace deadrank::results::detectors
