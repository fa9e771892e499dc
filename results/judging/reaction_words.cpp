// results/judging/reaction_words.cpp — The words for reactions: in verdicts, in sentences, in scenarios, and
// in the resilience table.
#include <algorithm>
#include <array>
#include <utility>

#include "results/judging/resilience.h"

namespace deadrank::results {

std::string_view name_of(Reaction reaction) {
    static constexpr std::array<std::string_view, 10> names = {
        "completed",           "warned_and_completed", "clear_error", "misleading_error",
        "wrong_rank",          "refused_to_start",     "restarted",   "hung",
        "silent_wrong_result", "not_checked"};
    return names.at(static_cast<std::size_t>(reaction));
}

std::string_view reaction_text(Reaction reaction) {
    static constexpr std::array<std::string_view, 10> texts = {
        "it completed silently",
        "it warned and completed",
        "it ended with a clear error",
        "it ended with a misleading error",
        "it ended with an error that blames the wrong rank",
        "it ended with an error before its first step",
        "it restarted and completed",
        "it hung",
        "it completed with a wrong result",
        "it completed with a wrong result, by a setting that nobody promised to compare",
    };
    return texts.at(static_cast<std::size_t>(reaction));
}

std::string_view wanted_text(WantedReaction wanted) {
    switch (wanted) {
        case WantedReaction::any:
            return "end in any way";
        case WantedReaction::clear_error:
            return "end with an error that names the culprit";
        case WantedReaction::error:
            return "end with an error";
        case WantedReaction::refuse_to_start:
            return "refuse to start";
        case WantedReaction::restart:
            return "restart and complete";
        case WantedReaction::warn_and_complete:
            return "warn and complete";
        case WantedReaction::complete:
            return "complete";
        case WantedReaction::finish:
            return "come to its end";
    }
    return {};
}

bool meets_reaction(WantedReaction wanted, const Grade& job) {
    const Reaction reaction = job.reaction;
    switch (wanted) {
        case WantedReaction::any:
            return true;
        case WantedReaction::clear_error:
            return reaction == Reaction::clear_error || reaction == Reaction::refused_to_start;
        case WantedReaction::error:
            return ended_with_error(reaction);
        case WantedReaction::refuse_to_start:
            return !job.stepped && ended_with_error(reaction);
        case WantedReaction::restart:
            return job.restarted &&
                   (reaction == Reaction::restarted || reaction == Reaction::silent_wrong_result ||
                    reaction == Reaction::not_checked);
        case WantedReaction::warn_and_complete:
            return reaction == Reaction::warned_and_completed;
        case WantedReaction::complete:
            return reaction == Reaction::completed || reaction == Reaction::warned_and_completed;
        case WantedReaction::finish:
            return !ended_with_error(reaction) && reaction != Reaction::hung;
    }
    return false;
}

bool ended_with_error(Reaction reaction) {
    return reaction == Reaction::clear_error || reaction == Reaction::misleading_error ||
           reaction == Reaction::wrong_rank || reaction == Reaction::refused_to_start;
}

bool is_bad(Reaction reaction) {
    return reaction == Reaction::misleading_error || reaction == Reaction::wrong_rank ||
           reaction == Reaction::hung || reaction == Reaction::silent_wrong_result;
}

bool is_good(Reaction reaction) { return !is_bad(reaction) && reaction != Reaction::not_checked; }

const TableWord& table_word(Reaction reaction) {
    if (reaction == Reaction::refused_to_start) reaction = Reaction::clear_error;
    if (reaction == Reaction::warned_and_completed) reaction = Reaction::completed;
    return *std::find_if(table_words.begin(), table_words.end(),
                         [&](const TableWord& word) { return word.reaction == reaction; });
}

}  // namespace deadrank::results
