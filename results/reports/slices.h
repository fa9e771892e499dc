// results/reports/slices.h — What each rank was doing, as slices of time: what the page draws and
// the trace exports. Made from evidence alone, so a production job's file draws as well as a simulated one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "results/record/evidence.h"

namespace deadrank::results::reports {

// Slices of one lane of one rank nest or follow each other, but for calls under way at once.
enum class Lane : std::uint8_t { step, work, call, instant };

// What a slice looks like, told once for all that look so. Groups of one name look alike: ranks that do the
// same in each of them are alike too.
struct SliceKind {
    Lane lane = Lane::work;
    std::string group;         // how it is coloured: forward, collective, p2p, meeting, gone, error, …
    std::string label;         // "all_reduce of world"
    std::string detail;        // "16 f32, sum"
    std::uint32_t series = 0;  // whose numbers count on: 0 steps, else a communicator's name
};

struct Slice {
    std::uint32_t kind = 0;
    CommId comm = 0;          // of a call
    std::int64_t number = 0;  // step, or sequence number of the communicator
    Time begin{0};
    Time end = never;  // never: it had not ended when the observation did
};

struct Timeline {
    std::vector<SliceKind> kinds;
    std::vector<std::vector<Slice>> ranks;  // by rank, in order of begin
};

Timeline timeline_of(const Evidence& evidence);

}  // namespace deadrank::results::reports
