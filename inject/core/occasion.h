// inject/core/occasion.h — One fault on one rank: what it waits for, and how far it has come.
// Every rank of a fault has its own, so that "the third all_reduce" is each rank's own third.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "inject/core/fault.h"
#include "inject/core/moment.h"

namespace deadrank::inject {

// Where a rank was, kept after the moment is over.
struct Sighting {
    std::int64_t step = -1;
    std::string call;
    Time now{0};
};
std::string sighting_text(const Sighting& sighting);  // "before all_reduce of step 3"

// A moment that did not fit: what it lacked, and how many steps it was away.
struct Nearness {
    int missing = 0;  // conditions of the trigger that it did not meet
    std::int64_t steps_away = 0;
    Sighting sighting;

    bool nearer_than(const Nearness& other) const {
        return std::pair(missing, steps_away) < std::pair(other.missing, other.steps_away);
    }
};
Nearness nearness(const scenarios::Trigger& when, const Moment& moment);

struct PlannedFault {
    scenarios::FaultSpec spec;  // every default written out
    std::unique_ptr<Fault> fault = {};
    std::vector<Rank> ranks = {};  // no_rank alone: aims at no rank
    bool muted = false;            // its levers are not pulled, and everything else is as if they were
    Rhythm rhythm = {};
};

struct Occasion {
    std::size_t fault = 0;  // index in the plan
    Rank rank = results::no_rank;
    std::int64_t matches = 0;
    std::int64_t acts = 0;  // completed: applied and reverted
    bool watching = false;  // still needs its rank's moments
    bool active = false;    // applied, and not reverted since
    bool finished = false;  // nothing more will come of it
    Time alarm = results::never;
    bool applied = false;              // at least once
    std::vector<Subject> subjects;     // of what was pulled
    std::optional<Nearness> nearest;   // of the moments that did not fit
    std::optional<Sighting> sighting;  // when the value that it changes was asked for last, before it acted
};

}  // namespace deadrank::inject
