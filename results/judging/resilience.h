// results/judging/resilience.h — A cell of the resilience table: how a framework reacted to a bug, as the
// judge graded it, in the table's eight words.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "results/judging/reaction.h"
#include "results/record/subject.h"

namespace deadrank::results {

// A word of the table. Whether a job warned, or took a step before its error, does not matter here.
struct TableWord {
    std::string_view id;    // "silent_wrong_result", in JSON lines and in lists of known reactions
    std::string_view text;  // "silent wrong result"
    Reaction reaction;      // what the word is read back to
};
inline constexpr std::array<TableWord, 8> table_words = {{
    {"clear_error", "clear error", Reaction::clear_error},
    {"misleading_error", "misleading error", Reaction::misleading_error},
    {"wrong_rank", "wrong rank blamed", Reaction::wrong_rank},
    {"hang", "hang", Reaction::hung},
    {"silent_wrong_result", "silent wrong result", Reaction::silent_wrong_result},
    {"not_checked", "not checked", Reaction::not_checked},
    {"recovered", "recovered", Reaction::restarted},
    {"unaffected", "unaffected", Reaction::completed},
}};
const TableWord& table_word(Reaction reaction);

// One cell of the table, and what is needed to explain it.
struct ResilienceCell {
    std::string scenario, cause;  // ids
    Subject subject;
    std::string again;           // the command that reproduces it
    std::optional<Grade> grade;  // absent: not known
    std::string untold = {};     // why not: not played here, no fault, a machine too slow
    int run = 1;                 // of several of one bug and one program
    std::string known = {};      // "before", "after": when what agrees was written down; empty = nobody said
};

}  // namespace deadrank::results
