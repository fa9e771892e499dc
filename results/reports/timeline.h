// results/reports/timeline.h — A run as rows of slices, folded to what a page can show, and encoded for it.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "results/record/evidence.h"
#include "scenarios/model/enum_words.h"

namespace deadrank::results::reports {

// ── What each rank was doing, as slices of time, for the page and the trace. Made from evidence alone, so a
// production job's file can be drawn as well as a simulated one.

// Slices of one lane of one rank nest or follow each other, except for calls under way at once.
enum class Lane : std::uint8_t { step, work, call, instant };

enum class SliceGroup : std::uint8_t {
    step,
    phase,
    collective,
    p2p,
    meeting,
    checkpoint,
    error,
    finished,
    gone
};
constexpr auto enum_words(SliceGroup) {
    return std::to_array<std::string_view>(
        {"step", "phase", "collective", "p2p", "meeting", "checkpoint", "error", "finished", "gone"});
}

// What a slice looks like, stored once for all slices that look so. Groups of one name look alike, so ranks
// that do the same in each of them are alike too.
struct SliceKind {
    Lane lane = Lane::work;
    SliceGroup group = SliceGroup::step;
    std::string label;         // "all_reduce of world"
    std::string detail;        // "16 f32, sum"
    std::uint32_t series = 0;  // what `number` counts: 0 steps, 1 set-up, then by communicator name
    Phase phase = Phase::none;  // of the group `phase`

    std::string_view colour() const;  // "collective", "error", …; of a phase its own name: "forward"
};

struct Slice {
    std::uint32_t kind = 0;
    CommId comm = 0;          // of a call
    std::int64_t number = 0;  // step, or sequence number of the communicator
    Time begin{0};
    Time end = never;  // never: still open at the end of observation
};

struct Timeline {
    std::vector<SliceKind> kinds;
    std::vector<std::vector<Slice>> ranks;  // by rank, in order of begin
};

Timeline timeline_of(const Evidence& evidence);

// ── Ranks that did the same at the same times become one row. Times are the same if a picture of the run could
// not show their difference. That tolerance grows until all rows fit into a number of bytes; the result states
// it.

struct Row {
    std::vector<Rank> ranks;  // ascending; the first one is drawn
};

struct Folded {
    std::vector<Row> rows;       // in order of their first ranks
    Time tolerance{0};           // ranks of a row agree at least that closely; never: in what, not in when
    std::vector<Rank> left_out;  // ranks without a row, since theirs did not fit
};

// Ranks `apart` get rows of their own, and are never left out.
Folded fold(const Timeline& timeline, const std::set<Rank>& apart, std::size_t bytes_most);

// ── Rows in few bytes: what was done is stored once for all rows that did it, and when as differences in
// microseconds. results/reports/html/decode.js reads it back.

// Both in base64 over variable-length integers (7 bits a byte, lowest first; "zigzag" where negative).
struct EncodedRows {
    // number of shapes, then each: number of slices, then of each slice the kind, and zigzag of its number
    // less that of the slice before in the same series
    std::string shapes;
    // for each row: shape, then of each slice its begin less the begin before, and 0 where it never ended,
    // else its length + 1
    std::string times;
};
EncodedRows encode(const Timeline& timeline, const std::vector<Row>& rows);

std::string base64(std::string_view bytes);

}  // namespace deadrank::results::reports
