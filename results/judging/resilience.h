// results/judging/resilience.h — How a framework stood a fault: a cell of the resilience table. Read from
// evidence, its control run, and the truth about who it was; stricter than reaction.h, which asks only how
// the job ended.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "results/record/blame.h"
#include "results/record/evidence.h"
#include "results/record/waiting.h"

namespace deadrank::results {

enum class Response {
    clear_error,          // names the cause, and nobody else
    misleading_error,     // an error from which the cause cannot be told
    wrong_rank,           // somebody else is called the root cause
    hang,                 // stood still for longer than hang_multiple times its time-out
    silent_wrong_result,  // ended well, with other parameters, losses or samples than the control
    recovered,            // started again, and came to the control's result
    unaffected,           // came to the control's result
};
std::string_view name_of(Response response);
std::string_view text_of(Response response);  // "silent wrong result"
bool is_good(Response response);              // nobody is left waiting, misled or wrong

// A job that needs more than this many times its time-out to end is a hang, however it ends.
inline constexpr std::int64_t hang_multiple = 5;

struct Resilience {
    Response response = Response::unaffected;
    Time took =
        never;         // from the fault to the job's end, or as long as a hang was watched; never = not asked
    std::string says;  // one sentence: the words that were found, or what differs

    bool operator==(const Resilience&) const = default;
};

struct Stood {
    const Evidence& evidence;
    const Evidence* control = nullptr;  // without it no completed run can be told from a wrong one
    const Blame& culprit;
    Time fault_at{0};
    Time timeout{0};  // what bounds a wait in the job; 0 = unknown
    Waiting waiting = {};
};

// The program under test, as job.start tells it in lines of name=value; nameless in the simulator.
struct Subject {
    std::string name;        // as --subject calls it
    std::string framework;   // "PyTorch DDP"
    std::string version;     // "torch 2.11.0"; empty when nobody said
    Time timeout{0};         // what bounds its waits; 0 = unknown
    std::string debug = {};  // TORCH_DISTRIBUTED_DEBUG of the whole job; empty = as usual
};
std::string subject_lines(const Subject& subject);
Subject subject_of(const Evidence& evidence);

// One cell of the table, and what there is to say about it.
struct Standing {
    std::string scenario, cause;  // ids
    Subject subject;
    std::string again;                // the command that shows it once more
    std::optional<Resilience> stood;  // absent: it could not be told
    std::string untold = {};          // why not: not played here, no fault, a machine too slow
};

// Nothing, when there is no control run and only beside one it could be told; or when what is too long for a
// bounded wait is no more than the processes waited for a processor.
std::optional<Resilience> resilience_of(const Stood& stood);

}  // namespace deadrank::results
