// results/analysis/call_order.h — The calls of one process in their order: whether one of them was usual
// there, and whether they are those of its siblings.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "results/analysis/calls.h"
#include "results/analysis/lives.h"

namespace deadrank::results::analysis {

// ── Training repeats itself: what followed the same calls before should follow now.

// What makes two calls the same step of a program. Communicators are compared by name: dp equals dp.
struct Act {
    std::string_view group;
    Op op = Op::none;
    std::int64_t count = 0;
    Dtype dtype = Dtype::none;
    ReduceOp reduce = ReduceOp::none;
    std::int32_t root = -1;

    bool operator==(const Act&) const = default;
};

struct ProgramStep {
    Act act;
    CommId comm = 0;
    std::int64_t seq = 0;
    Time at{0};
};

class Program {
public:
    // The collectives of this process in this attempt, up to `until`.
    Program(const Evidence& evidence, int attempt, Rank process, Time until = never);

    const std::vector<ProgramStep>& steps() const { return steps_; }
    std::optional<std::size_t> index_of(CommId comm, std::int64_t seq) const;

    // What followed the longest run of earlier calls that matches those before `index`; nullopt on the first
    // lap.
    std::optional<Act> usual_at(std::size_t index) const;
    // What usually followed that call.
    std::optional<Act> usual_after(std::size_t index) const;

    // Was the usual call at `index` skipped, in favour of the one that usually follows it?
    bool skipped_at(std::size_t index) const;
    // The first call that was not the usual one; size() if there is none.
    std::size_t first_unusual() const;

private:
    std::optional<std::size_t> like(std::size_t index) const;  // an earlier index in the same situation

    std::vector<ProgramStep> steps_;
};

// The first step in which the first of these processes made fewer calls on the communicator than most of its
// other peers did in theirs: where it left one out, though its peers may notice steps later. Those who are
// blamed with it left the same call out and are no measure. Nothing if it never did.
std::optional<std::int64_t> find_step_of_missing_call(const Evidence& evidence, const Communicator& comm,
                                                      const std::vector<Rank>& blamed, Time until);

// Whether this operation had more than one size in the communicator before this call.
bool sizes_vary(const Communicator& comm, const Collective& collective, const CollectiveEnter& what);

// Whether this process called on the communicator in one of its steps, and not in set-up alone.
bool calls_in_its_steps(const Evidence& evidence, const Communicator& comm, Rank process);

// The names of groups that each of these processes made with others of them alone, smaller than the job, and
// in which nobody ever called. Empty if one of the processes has no such group.
std::vector<std::string_view> find_unused_groups(const Evidence& evidence, int attempt,
                                                 const std::vector<Rank>& processes);

// ── Groups of one name do the same work side by side. A member that does something else than the members at
// the same place in the other groups stands out even on the first step.

// Members whose calls, collectives and messages, differ from those of every sibling: neither list is a prefix
// of the other. Empty without siblings, and if all members differ.
std::vector<Rank> find_odd_siblings(const Evidence& evidence, const Communicator& comm, Time when);

// ── Those of these ranks whose calls and messages in their latest step are no beginning of those in the step
// before, or were others in the step before than in the one before that. A rank of fewer than two steps is
// not among them.
std::vector<Rank> find_ranks_out_of_order(const Evidence& evidence, int attempt,
                                          const std::vector<Rank>& ranks, Time when);

// The meeting at the end of a job: a rendezvous that a process enters after it has worked, so that waiting
// there is not a set-up wait.
struct Leaving {
    Rank process = no_rank;
    Time entered{0};
    Time left = never;
};

// Of one attempt, in order of arrival.
std::vector<Leaving> find_leavings(const Evidence& evidence, int attempt);

// Did this process begin a step, in this attempt, before that moment?
bool had_begun_step(const Evidence& evidence, int attempt, Rank process, Time before);

}  // namespace deadrank::results::analysis
