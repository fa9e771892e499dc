// results/facts/meetings.h — Which processes meet in calls while they train, directly or through others.
// Those that never do are jobs of their own.
#pragma once

#include <cstddef>
#include <cstdint>
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
    std::size_t count() const { return parts_; }

private:
    Meetings(const Evidence& evidence, Time from, const std::vector<Time>& until, Time until_at_most);

    std::vector<std::uint32_t> part_of_;
    std::vector<std::uint32_t> members_;  // how many, by part
    std::size_t parts_ = 0;
};

}  // namespace deadrank::results::detectors
