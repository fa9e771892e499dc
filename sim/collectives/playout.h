// sim/collectives/playout.h — A collective chunk by chunk: when each member is done, over links that change
// under it. Where nothing changes, that is to the nanosecond what the closed form of sim/collectives/cost.h
// says.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/collectives/cost.h"
#include "sim/machine/link_history.h"
#include "sim/machine/topology.h"

namespace deadrank::sim {

struct Course {
    results::Op op = results::Op::none;
    std::int64_t bytes = 0;                 // as collective_time() takes them
    Rank root = 0;                          // of broadcast and reduce
    Algorithm algorithm = Algorithm::ring;  // of all_reduce and barrier: ring or tree
    RingCost ring;                          // as it is when nothing is disturbed
};

class Links {
public:
    virtual ~Links() = default;
    // Times count from the start of the collective.
    virtual LinkHistory between(Rank from, Rank to) const = 0;
};

struct PlayoutResult {
    std::vector<Time> ends;  // by place, from the start of the collective; never: it is held up
    // The first member whose message was held up by a link that is down, and its receiver; -1: none.
    Rank stalled = -1, towards = -1;
    std::uint64_t messages = 0;  // that were played
};

// How many messages it takes: what a play costs.
std::int64_t messages_of(const Course& course);

PlayoutResult play_out(const Course& course, const Links& links);

// The last play, which is also that of the next call like it under the same conditions.
struct PlayedBefore {
    Course course;
    bool steady = false;  // nothing changed while it went on
    LinkConditions under;
    PlayoutResult played;

    bool is(const Course& other, const LinkConditions& now) const {
        return steady && course.op == other.op && course.bytes == other.bytes && course.root == other.root &&
               course.algorithm == other.algorithm && under.same_as(now);
    }
};

}  // namespace deadrank::sim
