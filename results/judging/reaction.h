// results/judging/reaction.h — How a job reacted to what happened to it, read from evidence, its control run
// and the true culprit. Judge, resilience table and search share this grading, so they cannot contradict each
// other.
//
// Hang. A job hangs when a rank never ends, unless the rank's whole node fell silent while others ended with
// an error about a peer or without a word: a lost node reports no exits, and whoever raised an error of its
// own did not fail because of it. An error that comes after more than hang_multiple time-outs without
// a step is a hang as well, if the job has a time-out: its users have given up long before. Time in
// which the launcher waits for a rank that it asked to end, or in which others had the processor, does not
// count.
//
// Error. It is clear when it leads to the cause and blames no other rank: it names the culprit's rank, node,
// variable, part or file, or is the culprit's own sentence about what happened, or the launcher calls the
// culprit the root cause and says which signal ended it. Words from before the fault, the heading and the
// frames of a traceback, the speaker's name in front of its line, and a victim's complaint about a time-out
// or a lost peer name nobody. A node's name counts if all of its ranks are culprits. The same holds before
// the first step: a job that refuses to start with an error about something else misleads.
//
// Result. What a user would call it: each rank's last loss and parameters, the samples that it read (not
// after a restart, which repeats some), and every served answer. Whatever the control has must be there and
// the same. A job that warned or restarted and then reached another result is wrong: a user who looks only at
// the result would never know. Samples are compared for the whole job, step by step: which rank trains on
// which share does not matter while losses and parameters are the same.
//
// Not checked. Where the bug is a setting that differs per rank ([bug] per_rank), a wrong result breaks a
// promise only if the framework's documentation says that it compares that setting or makes it equal. For
// other frameworks it is a grade of its own.
//
// A scenario's word asks for what it says and no more: `refuse_to_start` for an error before the first step,
// whatever its words; `restart` for a job that started again and ended well, whatever its result, which a
// detector has to notice; `error` for any end by an error, whatever it names, where the software under test
// cannot know the culprit; `finish` for a job whose ranks all end well, whatever its result, as a fixed job
// may skip a step that the control makes. `clear_error`, `complete` and `warn_and_complete` ask for the
// grade.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "results/record/blame.h"
#include "results/record/record.h"
#include "scenarios/model/scenario.h"

namespace deadrank::results {

using scenarios::WantedReaction;

enum class Reaction {
    completed,
    warned_and_completed,
    clear_error,
    misleading_error,  // an error from which the cause cannot be told
    wrong_rank,        // an error that calls somebody else the root cause
    refused_to_start,  // a clear error before the first step
    restarted,         // and completed
    hung,
    silent_wrong_result,  // only a control run can tell
    not_checked,          // likewise, of a setting that differs per rank and that nobody promised to compare
};
std::string_view name_of(Reaction);
std::string_view reaction_text(Reaction reaction);      // "it hung"
std::string_view wanted_text(WantedReaction wanted);    // "end with a clear error"

bool ended_with_error(Reaction reaction);
bool is_good(Reaction reaction);  // nobody is left waiting, misled or wrong
bool is_bad(Reaction reaction);   // somebody is, and by what was promised; `not checked` is neither

// A job that takes longer than this many of its time-outs to end has hung, however it ends.
inline constexpr std::int64_t hang_multiple = 5;

// One run, as the grading sees it.
struct Reacting {
    const Evidence& evidence;
    const Evidence* control = nullptr;  // without it no completed run can be told from a wrong one
    Blame culprit = {};                 // empty: nothing to blame, and any error text is clear
    Time fault_at{0};
    Time timeout{0};  // what bounds a wait in the job; 0 = unknown
    Waiting waiting = {};
    std::string unpromised = {};  // the setting that differs per rank where nobody promised to compare it
};

struct Grade {
    Reaction reaction = Reaction::completed;
    Time took =
        never;         // from the fault to the job's end, or as long as a hang was watched; never = not asked
    std::string says;  // one sentence: the words that were found, or what differs
    std::string untold = {};  // why the grade is not certain; empty = it is
    bool stepped = false;     // it reached its first step
    bool restarted = false;

    bool operator==(const Grade&) const = default;
};

// Is it what was asked for? `any` takes everything.
bool meets_reaction(WantedReaction wanted, const Grade& job);

Grade grade(const Reacting& job);
// `per_rank`: [bug] per_rank of the scenario.
Grade grade(const Record& run, const Evidence* control, const Blame& culprit = {},
            const std::string& per_rank = {});

// When the job had recovered or ended: the first step finished after its last restart, else its last exit.
// `never` if it hangs.
Time find_settled_time(const Evidence& evidence);

}  // namespace deadrank::results
