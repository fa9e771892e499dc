// results/analysis/meetings.h — Which processes meet in calls while they train, directly or through others.
// Those that never do are jobs of their own, or replicas that know nothing of each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "results/analysis/paces.h"
#include "results/record/evidence.h"

namespace deadrank::results::analysis {

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

// Trials of several settings may run side by side in one job, with other models and other paces, and one
// rank may serve all others without a call. Whom nobody meets in a call delays nobody there. So ranks are
// compared with those alone that they meet in their steps, each company by itself; who meets nobody is left
// out.
//
// Ranks that meet may do work of different kinds by design: trainers wait for what generators sample, and
// neither is slow beside the other. They are companies of their own as well.
//
// Empty if all ranks are one company. So they are where no rank meets another, since then calls were not
// recorded.
std::vector<std::vector<StepPace>> group_comparable_ranks(const Evidence& evidence);

// Ranks that claim to hold the same parameters, yet have shared no call in training when they do so: they
// train alone, or in parts.

struct IsolatedReplicas {
    std::string_view group;  // as they call it
    std::vector<Rank> ranks;
    std::size_t parts = 0;                  // of ranks that share calls
    Time at{0};                             // when the last of them had said so, after its first step
    bool worlds = false;                    // each believes it is the whole world
    std::optional<std::int64_t> step = {};  // the first after which they said so
};

// The first such group. Nothing if all replicas meet, directly or through others, nor if it is a call that is
// missing in one job: they made a group beyond the world in which they never call; or a broadcast gave them
// one start, or they were alike once, and they part though none of them calls in a smaller group.
std::optional<IsolatedReplicas> find_isolated_replicas(const Evidence& evidence);

// Ranks that reduce, gather or exchange with each other in a group smaller than the job work on one model,
// and are of one kind. So are groups that make the same kinds of calls, as the stages of a pipeline do: each
// reduces its gradients among its replicas. Groups whose calls differ are of different kinds: trainers reduce
// gradients, and generators only send what they sampled and receive weights. What all ranks call together
// tells nothing, nor does a barrier.
class Roles {
public:
    explicit Roles(const Evidence& evidence);

    bool several() const { return count_ > 1; }
    // The number of a process's role; the same for all that can be compared.
    std::size_t of(Rank process) const {
        return role_of_.empty() ? 0 : role_of_[static_cast<std::size_t>(process)];
    }

private:
    std::vector<std::uint32_t> role_of_;  // none where all have one
    std::size_t count_ = 1;
};

}  // namespace deadrank::results::analysis
