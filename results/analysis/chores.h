// results/analysis/chores.h — What one rank alone does in each step while the others have nothing to do: it
// saves, evaluates or writes a log, as the program means it to.
#pragma once

#include <map>
#include <vector>

#include "results/record/event.h"
#include "results/record/time.h"

namespace deadrank::results::analysis {

struct StepPace;

// A chore is done before a barrier, which is made to wait for somebody, or between the last call and the end
// of a step. The others do nothing meanwhile: less than a tenth of that time, and less than a millisecond. A
// rank that is slow at what all ranks do finds that the others do it too.
struct Chore {
    Rank process = no_rank;
    Time lasted{0};
};

// Do the others nothing in that time, of which they need this much at most?
bool is_negligible(Time others, Time chore);

// The times between the last call and the end of one step: only the longest can be a chore.
struct Rests {
    Rank process = no_rank;
    Time longest{0}, next{0};

    void add(Rank rank, Time rest);
};

// A rank has a chore if it had it in the first two steps of an attempt; a slowness that begins later is none.
// What a chore takes longer than is usual for it is the rank's own time again: rank 0 evaluates for 50 ms in
// each step, and from step 10 on for 150 ms, of which 100 ms are its own.
class Chores {
public:
    // Takes chores out of the own times of the step after the one before: those seen before barriers, and the
    // longest of the rests, unless all ranks end their steps with work, as stages of a pipeline do.
    void leave_out_of(StepPace& step, std::vector<Chore> before_barriers, const Rests& rests,
                      bool rests_are_work);

private:
    Time left_out(const Chore& chore);
    void forget_processes_without(const std::vector<Chore>& chores);

    int attempt_ = -1;
    std::int64_t steps_ = 0;
    std::map<Rank, std::vector<Time>> from_the_start_;
};

}  // namespace deadrank::results::analysis
