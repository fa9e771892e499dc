// results/analysis/paces.h — How long each rank took for each step, and how much of that was its own.
#pragma once

#include <vector>

#include "results/analysis/calls.h"
#include "results/record/evidence.h"

namespace deadrank::results::analysis {

// ── A rank's own time in a step is what it did not spend waiting. A stretch up to the start of a call was
// its own work; a stretch up to the end of a call was waiting. Of a send only the time counts as waiting in
// which the message was under way. Where a receive ends beside which the rank did something else, nothing
// tells when the rank began to wait for it: the stretch is waiting or work, and `unattributed`. Ranks of the
// simulated cluster say how long they waited (SampleName::message_wait).
//
// Work of one rank for all is not its own either. Rank 0 takes everybody's prompts, asks a server and hands
// the answers out: the others wait for what it hands out, as the program means them to. It is told from slow
// work by what the others did meanwhile, which is nothing: they came to the broadcast or scatter in less than
// a tenth of that time. Only what the root did since a call or since a phase began is taken for it, so that
// loading a batch slowly before the first broadcast of the forward pass is not. Where roots of several groups
// of a size do such work, what one of them takes longer than their median stays its own. Nor is a chore,
// which one rank alone has in each step (chores.h).
//
// Nor is the share of ranks that a job has lost. Where three replicas' samples are dealt to the two that are
// left, one of them takes two shares: of its time a share is its own. More than its part of the shares is not
// dealt evenly, and stays its own.

struct Pace {
    Rank process = no_rank;
    // Microseconds in phases of training, of those that are recorded; saving and evaluating are none. There
    // may be a million of these: beside the rank it takes no room.
    std::int32_t trained = 0;
    Time own{0};
    Time whole{0};
    Time ended{0};
    // Microseconds, for the same reason.
    std::int32_t starved_for = 0;  // of its own: ready to work, but without a processor; 0 if not reported
    std::int32_t unattributed_for = 0;  // work or waiting, and not part of its own

    Time starved() const { return std::chrono::microseconds(starved_for); }
    Time unattributed() const { return std::chrono::microseconds(unattributed_for); }
};

// One training step of one attempt, over all ranks that ended it.
struct StepPace {
    int attempt = 0;
    std::int64_t step = 0;
    std::vector<Pace> ranks = {};
    Time own{0};      // medians; of an even number the lower one
    Time at_most{0};  // own time, had the ranks worked in all that is unattributed
    Time whole{0};
    Time trained{0};
    Time ended{0};              // when the last rank ended it
    Time starved{0};            // the longest that one of them had no processor
    Time for_all{0};            // the longest work of a rank for all, which is in nobody's own time
    Rank worker = no_rank;      // whose
    bool first = false;         // of its attempt: warm-up
    bool epoch_begins = false;  // loaders and shuffles may begin anew with it
    bool called = false;        // a rank called others in it
};

// One slow rank of a pair does not pass for the usual pace. 0 of none.
Time lower_median(std::vector<Time> times);

// Works out what a step says of all its ranks.
void summarize(StepPace& step);

// A rank that read more samples in a step than in its first one.
struct Portion {
    std::size_t place = 0;             // in StepPace::ranks
    std::int64_t read = 0, usual = 0;  // samples
};

// What a rank did in a step for all members of a communicator.
struct Errand {
    std::size_t place = 0;  // in StepPace::ranks
    CommId comm = 0;
    std::size_t members = 0;
    Time lasted{0};
};

class Paces {
public:
    explicit Paces(const Evidence& evidence);

    const std::vector<StepPace>& steps() const { return steps_; }  // by attempt and step
    bool pipelined() const { return pipelined_; }  // ranks send to each other: stages may legitimately differ
    bool has_starvation_data() const {
        return has_starvation_data_;
    }  // else `starved` is 0 for want of knowledge

private:
    void close(StepPace&& step, const std::vector<Errand>& errands, const std::vector<Portion>& portions);

    std::vector<StepPace> steps_;
    std::size_t most_ranks_ = 0;  // of a step so far
    bool pipelined_ = false, has_starvation_data_ = false;
};

}  // namespace deadrank::results::analysis
