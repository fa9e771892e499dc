// runners/manual/telling_section.cpp — What becomes of what a program tells: the symptom, and what may be
// asked.
#include <fmt/format.h>

#include "runners/manual/manual_pages.h"
#include "runners/manual/markdown.h"

namespace deadrank::runners::manual {

namespace {

constexpr TableRow telling_rows[] = {
    {"values of `check` differ", "wrong_intermediate_value, also after a load"},
    {"two ranks `save` one path as state of one step", "reshard_restore_failure, at an unchanged layout too"},
    {"values of `restored` differ", "resume_state_regression"},
    {"values of `reference` differ",
     "parallel_result_mismatch; after a load, resume_state_regression; nothing where a "
     "`check` differs as early"},
    {"`check(\"evaluation.samples\", counted, of)` differs", "wrong_sample_coverage"},
    {"`value(\"learning_rate\", …)` of a rank departs from the peers that it was like, or is another "
     "constant "
     "than `config(\"learning_rate\", …)` on all; any `value` departs that peers held alike while it "
     "changed; "
     "ranks with different samples share a `value(\"dropout.seed\", …)`",
     "wrong_intermediate_value"},
    {"digests differ within a group", "replica_state_divergence"},
    {"a step that is made again after a restart has another `loss` or digest, though the "
     "samples are the same",
     "resume_state_regression"},
    {"`samples(ids)`: one is read twice in an epoch; an epoch begins as the one before; a "
     "step reads others after a restart; ranks of one `group` read different ones",
     "wrong_sample_coverage"},
    {"`loss(value)` is `nan` or `inf`, or grows without end", "loss_nan_or_divergence"},
    {"some ranks never enter a call",
     "collective_deadlock_hang; with a time-out, collective_timeout_abort. The step is the"
     " one in which they made fewer calls than their peers"},
    {"some ranks enter it otherwise", "collective_mismatch_error, or one of the two above"},
    {"a rank waits outside of calls: `sleep`, a key of the store, a process, its own loop",
     "as above, by the peers that wait for it in a call; where none does, collective_deadlock_hang about "
     "itself, "
     "10 min after all others have ended, where `observe` is longer"},
    {"an exception in the [words in which torch and others refuse](../detectors.md#words-that-are-known) "
     "shapes, "
     "sizes, indices and element types, whether an operation raises it or `raise` does",
     "tensor_shape_or_dtype_error"},
    {"an exception with \"out of memory\", \"No space left on device\", \"Missing key(s) in "
     "state_dict\" and other words [that are known](../detectors.md#words-that-are-known)",
     "what they say: device_out_of_memory, host_resource_exhaustion, reshard_restore_failure, …"},
    {"`load` of what is not there; and an exception with \"No such file or directory: '…\" where the path "
     "has `checkpoint`, `ckpt`, `global_step`, `iter_0`, `mp_rank_`, `zero_pp_rank_`, `optim_states`, "
     "`model_states`, `.distcp` or `/.metadata` in it",
     "checkpoint_unreadable; an exception about another path, model_or_data_loading_failure"},
    {"the store is gone: `DistNetworkError: Failed to recv, got 0 bytes`",
     "remote_peer_connection_error, about the rank that was its host"},
    {"an operation meets tensors of two devices", "wrong_device_used"},
    {"the cpu handed to NCCL, and a refusal of a device once the world is made; before, and two ranks on one "
     "device",
     "framework_runtime_exception; communication_setup_failure"},
    {"tensors or `allocate` on a device that is not the rank's own",
     "unbalanced_rank_memory, about those ranks"},
    {"a key does not come: `DistStoreError: wait timeout`", "communication_setup_failure, whenever that is"},
    {"any other exception, and so `assert` and `raise AssertionError(…)`; with `launcher = \"test\"`",
     "framework_runtime_exception; ci_or_test_failure"},
    {"`exit(16)`, `_exit(3)`, `raise SystemExit(2)`, where nothing else explains the end of the job",
     "framework_runtime_exception, about those who ended first"},
    {"a signal ends a rank: `abort()`, `kill(pid, SIGKILL)`; SIGTERM",
     "native_crash_or_illegal_access; restart_or_recovery_failure"},
};

constexpr std::string_view after_tellings = R"(
**What differs.** `check`, `reference` and `restored` take two numbers for the same if they are no further
apart than 8/65536, as `allclose` does, or a millionth of the larger one: decimals are cut to steps of
1/65536, and a sum that is made in another order differs by a few of them. Long sums, and numbers that are
divided by small ones afterwards, differ by more: hold them against each other with `x.allclose(y, atol)`.
`round(x, 3)` does not help, since two neighbours may be rounded apart. A `digest` is of every bit. Numbers
below a thousandth lose their digits, and 0.0001 passes for its double: a rate, a small coefficient or loss is
computed in larger units, as `lr = 0.1` in thousandths.

What is told in `setup` counts as of step 0, and in `finish` as of the step behind the last one.

**Which one is told.** The first step in which something differs. In one step a digest comes before a
`check`, that one before a `reference`, that one before a `restored`, and samples are the last. Of several
names of one kind the first that was told stands for all: the finding has its name and the ranks on which it
is wrong in that step, and its sentence names the others. `check("evaluation.samples", …)` is one of them. A
rank whose number goes wrong in the next step is not named: any call between may have brought the error there.

**What is asked.** A rank that raises ends the job soon, so that others with the same fate may say nothing:
where a whole host is concerned, expect `blames = ["node"]`. With a fault on all ranks `blames = ["rank"]`
is met where the finding names all of them: [what to expect](../expect.md) says of each symptom who is
named, in which step and how soon. A crash or a hang hides what differed in its own step, not what differed
before; an `OutOfMemoryError` that is caught is told if the process then ends with another error. Where a
process ends to make a bug show, list the symptom of its end in `also`, which takes findings beside the
symptom and never in its place. A restart begins anew: what the next attempt fails of is told beside the
failure that ended the one before. The right result, of which `reaction = "complete"` speaks, are each
rank's last `loss`, the last `digest` of each name, and `samples` of each step, as the control has them:
where the bug changes these, or the kept trigger of a heal does, ask for `finish`. `refuse_to_start` is met
by an error before any rank has begun a step; ranks whose `setup` ends well go on to theirs, unless it ends
with a call. `blames = []` asks for no rank: the finding may then name any ranks, as it must where no rank
is the odd one. That a rank is not named cannot be asked for. `deadrank plan FILE` says behind the plan how
long a step of the control takes, or what keeps it from one, and when a fault or a heal changes nothing: a
heal then needs `as_control`, also beside `fault = "keep"`.

**An early end.** A rank that runs out of batches may call `exit()`, which is `exit(0)`: it says nothing,
makes no further step, and leaves `finish` out. `stop_training()` leaves the step at once as well, and goes on
with `finish`: what `break` is in a loop of steps. Or put an `if` around all that the step does: the rank then
goes through its last steps without a call, and runs `finish`. Where all ranks leave off by `exit()` or
`stop_training()`, more steps before the last than there are epochs, that is told as wrong_sample_coverage,
unless they can have agreed on it: they made a call together in that step, or exchanged up to 8 numbers, or
saved, in the one before; the `if` is never told. `exit(16)` writes `SystemExit: 16` into the log and fails
the job. With `launcher = "bare"`, which ends nobody, peers that wait for the rank are told instead.
)";

}  // namespace

std::string telling_section() {
    return "## What becomes of what a program tells\n" + table_of({"the program", "found as"}, telling_rows) +
           std::string(after_tellings);
}

}  // namespace deadrank::runners::manual
