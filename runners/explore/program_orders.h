// runners/explore/program_orders.h — A healthy program in several orders of what its ranks, threads and messages do at
// one moment: does how it ends depend on the order?
//
// An order seed draws which of several events of one time comes first, which thread of a rank goes on at a call, and
// how late a thread begins (up to 0.1 s). Real machines may choose each such order.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runners/explore/program_trials.h"
#include "runners/explore/run_difference.h"
#include "runners/pipeline/workers.h"

namespace deadrank::runners::explore {

struct OrderRun {
    std::uint64_t seed = 0;
    Outcome outcome = Outcome::unknown;  // beside the usual order
    std::string says;
    std::uint64_t trace_hash = 0;
    std::size_t like = 0;  // the first run that ended alike: its index in `runs`
};

struct ProgramOrders {
    std::vector<OrderRun> runs;  // by seed; after a stop those that were played
    std::size_t planned = 0;
    std::size_t distinct = 0;    // different traces among them

    bool depends() const;  // some run that could be played did not end as the usual one
};

// Plays the program in the orders of seeds 1 to `count`. Errors: as ProgramTrials::control().
scenarios::Result<ProgramOrders> play_orders(ProgramTrials& trials, std::size_t count, const Workers& workers);

// Plays the usual order and those of `seeds` with `telling`, a runner whose evidence names the lines of the
// program. By seed: where an order first differs from the usual one, which is the one run. Where no rank does
// anything else, there is none. Errors: as ProgramTrials::control().
scenarios::Result<std::map<std::uint64_t, RunDifference>> find_order_differences(
    const ProgramTrials& trials, const std::vector<std::uint64_t>& seeds, Runner& telling);

}  // namespace deadrank::runners::explore
