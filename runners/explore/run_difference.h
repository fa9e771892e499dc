// runners/explore/run_difference.h — Two runs of one program: the first thing that a rank does otherwise,
// with the lines of the program.
#pragma once

#include <optional>
#include <string>

#include "results/record/evidence.h"

namespace deadrank::runners::explore {

struct RunDifference {
    results::Rank rank = results::no_rank;
    results::Time at = results::never;  // in the other run, or in the one if nothing comes there
    std::string one, other;             // the event without its time; empty: the rank does nothing more
    std::string one_line, other_line;   // of the program: "train.py:88 loss.backward()"; empty if not known

    std::string text() const;  // "rank 1 at 31.3 ms: …   at train.py:6 … in one run, … in another"
};

// "collective.enter op all_reduce   at train.py:88 loss.backward()"; "does nothing more" without an event.
std::string event_with_line(const std::string& event, const std::string& line);

// Each rank's events are compared in order, without their times. None: all ranks do the same.
std::optional<RunDifference> first_difference(const results::Evidence& one, const results::Evidence& other);

// The same; where all ranks do the same, the first event that has another time. Empty: there is none.
std::string describe_difference(const results::Evidence& one, const results::Evidence& other);

}  // namespace deadrank::runners::explore
