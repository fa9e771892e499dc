// runners/explore/moments.h — What a program did in a healthy run, as moments at which a fault may act.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "results/record/evidence.h"

namespace deadrank::runners::explore {

// One moment of a rank, in the words of `when`.
struct ProgramMoment {
    results::Rank rank = 0;
    std::string
        call;  // "all_reduce", "send", "checkpoint_save", "backward"; empty: the beginning of the step
    std::int64_t nth = 1;    // the rank's n-th such call or phase, from its start
    std::int64_t step = -1;  // -1: before the first step, or between two
    bool is_phase = false;   // `call` is a phase, at its beginning
    std::string text() const;  // "before all_reduce 7", "in backward 3", "at step 3"
};

enum class MomentKind { calls, steps, phases, files };
constexpr auto enum_words(MomentKind) {
    return std::to_array<std::string_view>({"calls", "steps", "phases", "files"});
}

// In the order in which each rank met them, by rank. `calls`: collectives and messages; `files`: checkpoints
// that are saved or loaded. A restarted job's first attempt alone counts.
std::vector<ProgramMoment> list_moments(const results::Evidence& healthy, MomentKind kind);

// "rank 1 has all_reduce × 15, broadcast × 2, 5 steps (0-4), the phases backward × 5, forward × 5"; for a
// moment that never came.
std::string describe_moments(const results::Evidence& healthy, results::Rank rank);

// With ManagedSettings::tell_lines, a line of rank.log that begins so names the line of the program that the rank is
// at: "deadrank: at train.py:88 loss.backward()".
inline constexpr std::string_view source_line_prefix = "deadrank: at ";

}  // namespace deadrank::runners::explore
