// sim/workloads/recording.h — A recorded run of a real program: which calls each rank made, of what size, in
// which groups, and how long it computed before each of them. Played again, at another number of ranks where
// data parallelism allows it.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "results/record/codes.h"
#include "results/record/time.h"
#include "scenarios/model/error.h"

namespace deadrank::sim {

using results::Rank;
using results::Time;

struct RecordedGroup {
    std::string name;
    std::vector<Rank> members;  // in the communicator's order

    bool operator==(const RecordedGroup&) const = default;
};

// What a rank does after it has computed for `before`.
struct RecordedAction {
    enum class Kind : std::uint8_t { call, message, wait, phase };
    Kind kind = Kind::phase;
    results::Phase phase = results::Phase::none;
    results::Op op = results::Op::none;
    results::Dtype dtype = results::Dtype::none;
    results::ReduceOp reduce = results::ReduceOp::none;
    std::int32_t group = 0;   // call, message: place in Recording::groups
    std::int32_t member = 0;  // call: the root or -1; message: the peer; both by place in the group
    std::int32_t tag = 0;     // message
    std::int64_t count = 0;   // call, message: elements, as the library counts them
    std::int64_t back = 0;    // wait: for the latest call or message, 0, or for one so many before it
    Time before{0};

    bool operator==(const RecordedAction&) const = default;
};

// What a rank does between two steps, or in one.
struct RecordedStretch {
    Time before{0};  // computed between the step before and this one
    std::vector<RecordedAction> actions;
    Time after{0};  // computed after the last action
    double loss = std::numeric_limits<double>::quiet_NaN();
    double gradient_norm = std::numeric_limits<double>::quiet_NaN();
};

struct RecordedRank {
    RecordedStretch start;  // before the first step
    std::vector<RecordedStretch> steps;
    RecordedStretch end;  // after the last step
};

struct Recording {
    std::vector<RecordedGroup> groups;  // in the order in which they were made
    std::vector<RecordedRank> ranks;

    Rank size() const { return static_cast<Rank>(ranks.size()); }
    std::size_t steps() const { return ranks.empty() ? 0 : ranks.front().steps.size(); }
};

// As JSON, in which lists of actions that repeat stand once. Errors: bad_input, with what is wrong.
scenarios::Result<Recording> read_recording(std::string_view text);
std::string recording_text(const Recording& recording);

// How a group of the recording lies in its ranks.
enum class GroupShape : std::uint8_t { world, within, across };

// How a recording is played by another number of ranks. The ranks of the recording are replicas of `block`
// neighbours: each group lies within one block, or joins the same place of all blocks, or is the world. More
// ranks are more blocks.
class Lift {
public:
    // Errors: unsupported, where the recording cannot be played by so many ranks.
    static scenarios::Result<Lift> make(const Recording& recording, Rank ranks);

    Rank ranks() const { return ranks_; }
    Rank block() const { return block_; }
    Rank source(Rank rank) const;  // the recorded rank that this one does as
    // The recorded group as `rank` sees it. Of a group that the rank's source is no member of: empty.
    std::vector<Rank> members(std::size_t group, Rank rank) const;
    // The place in `members` of a place in the recorded group: the peer of a message, or the root of a call.
    Rank place(std::size_t group, Rank recorded, bool is_message, Rank rank) const;
    // Elements of a call: a part of what all members share gets smaller with more members.
    std::int64_t count(const RecordedAction& action) const;

private:
    Lift(const Recording& recording, Rank ranks, Rank block, std::vector<GroupShape> shapes)
        : recording_(&recording), ranks_(ranks), block_(block), shapes_(std::move(shapes)) {}

    const Recording* recording_;
    Rank ranks_, block_;
    std::vector<GroupShape> shapes_;  // of each group
};

}  // namespace deadrank::sim
