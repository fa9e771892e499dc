// results/facts/call_order.h — The calls of one process in their order, and whether one of them was usual
// there.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "results/facts/calls.h"
#include "results/facts/lives.h"

namespace deadrank::results::detectors {

// The calls of one process in their order, and whether one of them was usual there. Training repeats itself:
// what followed the same calls before is what should follow now.

// What makes two calls the same step of a program. Communicators are compared by name: dp here is dp there.
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
    // The collectives of this process in this attempt, until that time.
    Program(const Evidence& evidence, int attempt, Rank process, Time until = never);

    const std::vector<ProgramStep>& steps() const { return steps_; }
    std::optional<std::size_t> index_of(CommId comm, std::int64_t seq) const;

    // What came after the longest run of calls that ended like the calls before `index`; nullopt on the first
    // lap.
    std::optional<Act> usual_at(std::size_t index) const;
    // What used to come after that.
    std::optional<Act> usual_after(std::size_t index) const;

    // Was the call at `index` left out what used to be there, in favour of what used to follow it?
    bool skipped_at(std::size_t index) const;
    // The first call that was not the usual one; size() when all were.
    std::size_t first_unusual() const;

private:
    std::optional<std::size_t> like(std::size_t index) const;  // an earlier index in the same situation

    std::vector<ProgramStep> steps_;
};

// The meeting at the end of a job: a rendezvous that a process enters after it has worked. What it waits for
// there is not a beginning.

struct Leaving {
    Rank process = no_rank;
    Time entered{0};
    Time left = never;
};

// Of one attempt, in the order in which they came.
std::vector<Leaving> leaving_of(const Evidence& evidence, int attempt);

// Did this process begin a step, in this attempt, before that moment?
bool had_worked(const Evidence& evidence, int attempt, Rank process, Time before);

}  // namespace deadrank::results::detectors
