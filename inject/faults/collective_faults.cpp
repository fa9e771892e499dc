// inject/faults/collective_faults.cpp — Faults of one call: it is left out, comes late, comes in another
// order, or is another call than the peers make.
#include "inject/core/fault.h"

namespace deadrank::inject {

// A rank makes two calls in the other order: a set that was iterated, hooks that fire as they arrive. Order
// alone decides what pairs with what, so both calls meet the wrong partner.
extern const FaultRow reorder_collective_row{
    {.name = "reorder_collective",
     .what = "A call changes places with the rank's next one on that communicator.",
     .parameters = {rank_parameter()},
     .levers = {AlterCall::hold}},
    [](const FaultSpec& spec) { return make_alteration(spec, {.hold = true}); },
    "collective"};

// A rank leaves a call out: a branch that only it takes, a batch that only it lacks.
extern const FaultRow skip_collective_row{
    {.name = "skip_collective",
     .what = "The rank goes on without making the call.",
     .parameters = {rank_parameter()},
     .levers = {AlterCall::skip}},
    [](const FaultSpec& spec) { return make_alteration(spec, {.skip = true}); },
    "collective"};

// A rank brings another number of elements than its peers: an uneven shard, a tensor of another shape.
extern const FaultRow resize_collective_row{
    {.name = "resize_collective",
     .what = "The call moves more or fewer elements.",
     .parameters = {rank_parameter(),
                    {"by", ValueType::integer, "-1", "elements more (or fewer, when negative)"},
                    {"to", ValueType::integer, "", "elements in all; overrules `by`", {}, true, 0}},
     .levers = {AlterCall::count}},
    [](const FaultSpec& spec) {
        return make_alteration(spec, {.count_change = spec.number("by"), .count_set = spec.number("to", -1)});
    },
    "collective"};

// A rank calls with another element type: a cast that one code path forgot.
extern const FaultRow retype_collective_row{
    {.name = "retype_collective",
     .what = "The call moves elements of another type.",
     .parameters = {rank_parameter(),
                    {"to",
                     ValueType::choice,
                     "f16",
                     "element type",
                     {"i8", "i32", "i64", "f16", "bf16", "f32", "f64"}}},
     .levers = {AlterCall::dtype}},
    [](const FaultSpec& spec) {
        return make_alteration(spec, {.dtype = results::dtype_named(spec.text("to"))});
    },
    "collective"};

// A rank names another root, or another peer: a global rank where the rank in a group was meant.
extern const FaultRow reroot_collective_row{
    {.name = "reroot_collective",
     .what = "The call has another root or peer.",
     .parameters = {rank_parameter(),
                    {"to",
                     ValueType::integer,
                     "",
                     "the root or peer it names, as a rank of that communicator",
                     {},
                     false,
                     0}},
     .levers = {AlterCall::root}},
    [](const FaultSpec& spec) {
        return make_alteration(spec, {.root = static_cast<std::int32_t>(spec.number("to"))});
    },
    "communication"};

// A rank calls another operation than its peers, or reduces by another rule: a sum where an average was
// meant.
extern const FaultRow swap_operation_row{
    {.name = "swap_operation",
     .what = "Another operation, or another reduction, is called instead.",
     .parameters = {rank_parameter(),
                    {"to",
                     ValueType::choice,
                     "",
                     "the operation called instead",
                     {"all_reduce", "broadcast", "reduce", "all_gather", "reduce_scatter", "all_to_all",
                      "gather", "scatter", "barrier"},
                     true},
                    {"reduce",
                     ValueType::choice,
                     "",
                     "the reduction used instead",
                     {"sum", "max", "min", "prod", "avg"},
                     true}},
     .levers = {AlterCall::operation}},
    [](const FaultSpec& spec) {
        return make_alteration(spec, {.op = results::op_named(spec.text("to")),
                                      .reduce = results::reduce_op_named(spec.text("reduce"))});
    },
    "collective"};

// A rank comes late to a call, once or again and again: a slow host thread, a busy queue.
extern const FaultRow delay_collective_row{
    {.name = "delay_collective",
     .what = "The rank waits before it makes the call.",
     .parameters = {rank_parameter(),
                    {"by", ValueType::duration, "100ms", "how long it waits", {}, false, 0}},
     .levers = {AlterCall::delay}},
    [](const FaultSpec& spec) { return make_alteration(spec, {.delay = duration(spec, "by")}); },
    "communication"};

// A call returns an error instead of doing its work, on one rank only: of the library, the store or the disk.
extern const FaultRow fail_call_row{
    {.name = "fail_call",
     .what = "The call is not made and answers an error.",
     .parameters = {rank_parameter(),
                    {"answer",
                     ValueType::choice,
                     "system_error",
                     "what it answers",
                     {"unhandled_device_error", "system_error", "internal_error", "invalid_argument",
                      "invalid_usage", "remote_error", "timeout", "aborted", "not_found", "corrupt",
                      "no_space"}}},
     .levers = {AlterCall::answer}},
    [](const FaultSpec& spec) {
        return make_alteration(spec, {.answer = results::code_named(spec.text("answer"))});
    },
    "communication"};

// A call is enqueued and its kernel never ends: a device that stopped answering. Peers hang with it.
extern const FaultRow hang_kernel_row{
    {.name = "hang_kernel",
     .what = "The call begins and never completes; no member leaves it, and evidence does not say whose "
             "kernel hangs.",
     .parameters = {rank_parameter()},
     .levers = {AlterCall::hang}},
    [](const FaultSpec& spec) { return make_alteration(spec, {.never_completes = true}); },
    "collective"};

}  // namespace deadrank::inject
