// results/judging/reaction.h — How the job itself reacted to what happened to it, read from evidence alone.
// A hang is the absence of an end; a clear error is one whose words name who or what was at fault.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/record/blame.h"
#include "results/record/evidence.h"

namespace deadrank::results {

enum class Reaction {
    completed,
    warned_and_completed,
    clear_error,
    misleading_error,
    refused_to_start,
    restarted,
    hung,
    silent_wrong_result,  // only a control run can tell
};
std::string_view name_of(Reaction);

// An error without any words is misleading; whether its words name the culprit is asked by error_names().
Reaction reaction_of(const Evidence& evidence, const Evidence* control = nullptr);

// Do the job's own error texts name one of these ranks or nodes, or the variable, component or shard?
// A text that a blamed rank printed itself names that rank. Without anything to blame, any error text does.
bool error_names(const Evidence& evidence, const Blame& culprit);

// When the job was well again or at its end: the first step done after its last restart, else its last exit.
// `never` while it hangs.
Time settled_at(const Evidence& evidence);

// The job's own error lines, in order of time, each once: "rank 3: RuntimeError: …".
std::vector<std::string> error_lines(const Evidence& evidence);

// Is this reaction the one asked for? `wanted` is a word of [expect] reaction; "any" takes every one.
bool reaction_meets(std::string_view wanted, Reaction reaction);

}  // namespace deadrank::results
