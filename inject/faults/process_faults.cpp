// inject/faults/process_faults.cpp — Faults of processes: ranks that die, exit or freeze, and the scheduler
// that preempts the whole job.
#include "inject/core/fault.h"

namespace deadrank::inject {

// A rank dies without warning: the out-of-memory killer, a crash in native code. Its peers see no error of
// their own; they only wait.
extern const FaultRow kill_rank_row{
    {.name = "kill_rank",
     .what = "The process dies by a signal. It says nothing.",
     .parameters = {rank_parameter(),
                    {"signal",
                     ValueType::integer,
                     "9",
                     "the signal: 9 killed, 11 segmentation fault, 6 aborted, 15 asked to end",
                     {},
                     false,
                     1}},
     .levers = {Kill::lever}},
    [](const FaultSpec& spec) {
        return make_simple_fault(
            spec, {.apply =
                       [signal = static_cast<int>(spec.number("signal"))](Levers& levers, Rank rank) {
                           return levers.pull(Kill{rank, signal});
                       },
                   .blame = aimed(spec)});
    },
    "step"};

// A rank's own code raises and exits: a traceback in its log, an exit code, and peers that were not told.
extern const FaultRow exit_rank_row{
    {.name = "exit_rank",
     .what = "The rank raises an exception and exits with a code.",
     .parameters = {rank_parameter(),
                    {"code", ValueType::integer, "1", "exit code of the process", {}, false, 0},
                    {"says", ValueType::text, "RuntimeError: unexpected state",
                     "the last line of its traceback"}},
     .levers = {Exit::lever}},
    [](const FaultSpec& spec) {
        const int code = static_cast<int>(spec.number("code"));
        const std::string says = spec.text("says");
        return make_simple_fault(spec, {.apply =
                                            [code, says](Levers& levers, Rank rank) {
                                                return levers.pull(Exit{rank, code, says});
                                            },
                                        .blame = aimed(spec)});
    },
    "step"};

// A rank freezes but stays alive: a debugger, a stuck driver call, a frozen container.
extern const FaultRow stop_rank_row{
    {.name = "stop_rank",
     .what = "The process is stopped (SIGSTOP) and never goes on by itself.",
     .parameters = {rank_parameter()},
     .levers = {Stop::lever}},
    [](const FaultSpec& spec) {
        return make_simple_fault(
            spec, {.apply = [](Levers& levers, Rank rank) { return levers.pull(Stop{rank}); },
                   .revert = [](Levers& levers, Rank rank) { (void)levers.pull(Resume{rank}); },
                   .blame = aimed(spec)});
    },
    "step"};

// A rank freezes for a while: garbage collection, a storm of page faults, a machine being moved.
extern const FaultRow pause_rank_row{
    {.name = "pause_rank",
     .what = "The process is stopped and continues after a while.",
     .parameters = {rank_parameter(),
                    {"for", ValueType::duration, "5s", "how long it stands still", {}, false, 1}},
     .levers = {Stop::lever}},
    [](const FaultSpec& spec) {
        return make_simple_fault(
            spec, {.apply = [](Levers& levers, Rank rank) { return levers.pull(Stop{rank}); },
                   .revert = [](Levers& levers, Rank rank) { (void)levers.pull(Resume{rank}); },
                   .blame = aimed(spec),
                   .rhythm = {.on = duration(spec, "for")}});
    },
    "step"};

// A process that a rank started to help it dies: killed for its memory, by a full /dev/shm, by a bad sample.
// The rank itself lives, and may or may not look after its children.
extern const FaultRow kill_helper_row{
    {.name = "kill_helper",
     .what = "A helper process of the rank dies: one that loads samples, compiles, or writes checkpoints.",
     .parameters = {rank_parameter(),
                    {"helper",
                     ValueType::choice,
                     "loader",
                     "which: of loader_workers, of compile_workers, or the one that finishes a save beside "
                     "training (checkpoint_finish)",
                     {"loader", "compile", "checkpoint"}},
                    {"signal", ValueType::integer, "9", "the signal that ends it", {}, false, 1}},
     .levers = {BendValue::lever},
     .at_start = true},
    [](const FaultSpec& spec) {
        const std::string seam = spec.text("helper") + ".helper";
        return make_simple_fault(
            spec, {.apply =
                       [seam, signal = spec.number("signal")](Levers& levers, Rank rank) {
                           return levers.pull(BendValue{rank, seam, {.set_it = true, .set = signal}});
                       },
                   .blame = aimed(spec)});
    }};

// The scheduler reclaims the machines: every process is asked to end, whatever it was doing.
extern const FaultRow preempt_job_row{
    {.name = "preempt_job",
     .what = "The scheduler ends the whole job.",
     .parameters = {{"reason", ValueType::text, "preempted by a job of higher priority",
                     "what the scheduler says"}},
     .levers = {Preempt::lever}},
    [](const FaultSpec& spec) {
        return make_simple_fault(
            spec, {.apply = [reason = spec.text("reason")](Levers& levers,
                                                           Rank) { return levers.pull(Preempt{reason}); },
                   .blame = {.component = "scheduler"}});
    }};

}  // namespace deadrank::inject
