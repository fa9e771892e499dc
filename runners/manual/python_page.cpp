// runners/manual/python_page.cpp — The workload `python`, for people: its settings come from its kind.
#include "runners/manual/manual_pages.h"
#include "runners/manual/markdown.h"
#include "scenarios/model/python_program.h"

namespace deadrank::runners::manual {

namespace {

constexpr const char* program_opening = R"(# Workload python

Each rank runs a program of plain Python with plain torch. The program is a real process; its process group,
store, clock and network are simulated. The language is Python: nothing is added to it, and nothing is missing.

```toml
[bug]
patch = '''
@@
-    dist.all_reduce(count)
+    if rank == 0:
+        dist.all_reduce(count)
'''

[workload]
kind = "python"
program = "train.py"
```

The file holds the **fixed** program. The patch puts the bug into it. The control is the fixed program without
any fault, and so is the healed run. Faults in `[[fault]]` act on both programs; they stay in the healed run
unless `[heal] fault = "none"` drops them.

)";

constexpr const char* behind_settings = R"(
## The patch

`[bug] patch` is a unified diff: its text, or a file beside the scenario that ends in `.diff`. A hunk may begin
with `@@` alone. Its lines are looked for in the program and must be there once. A patch that does not apply is
refused with its line.

A patch may also change an installed package, torch included: `+++ b/torch/optim/sgd.py` above its hunks names the
file. So a report about a framework is played in the framework: take the fix of the report, turn it round
(`git diff fixed broken`), and let a short program reach the line. Ranks run the changed file in all variants but
the control; the installed package stays as it is. A patch may change several files and the program. Where the
package is not installed, or has no such lines, the run is `unknown` and says so. All ranks share a package, so such
a patch takes no `rank`. Hunks of the program stand below `+++ b/train.py`, or in front of the first head.

If the installed release still has the bug, leave `[bug] patch` out and state the report's fix as `fix` in
`[workload]`: the control and the healed run have it, and its absence is the bug.

A bug of a few ranks, such as a node with an older image, is the fault `patch_program` with `rank`.

A bug may also be a setting or an outside event: `set_env`, `kill_rank`, or any other fault.

## Ranks

`[cluster]` states nodes, `gpus_per_node` (ranks of a node) and the launcher. torchrun's variables are set, and
`init_process_group()` reads them. `nccl` gives NCCL's semantics, with or without GPUs: a lost peer is silence
until the watchdog ends the call. `gloo` gives gloo's: `Connection closed by peer`. With `gpus = true` tensors
are real `cuda` tensors whose operators run on the CPU; frameworks that shard for GPUs alone, as Accelerate's FSDP, need it. Ranks of a node share the memory of its devices, `device_memory` of `[cluster]`.

Files are real and lie in a directory of the run's own, which all ranks share and restarts keep.

Time is virtual. It passes in calls, stores and `time.sleep`. Computation costs nothing without GPUs.

## What is observed

The program need not say anything. The hook of `watch` observes it:

| what | where it comes from |
|---|---|
| steps, phases, losses, gradient norms | forward passes, `backward()` and `step()` of modules and optimizers |
| where a step begins | the first batch or forward pass after an optimizer's step; without any module the first backward pass |
| digests of parameters | replicas, found by the reductions of their gradients |
| which samples a rank reads | a `DataLoader` that deals its samples out to ranks: torch's `DistributedSampler`, or any sampler, batch sampler, dataset or stream that holds or asks for a rank and a number of ranks. Samples are told apart by what they hold, not by their indices. Where nothing deals them out, and the ranks that average their gradients shuffle alike, that too. What another rank reads and hands on, and what no `DataLoader` reads, is not observed: state it with `samples(ids)` |
| checkpoints | `torch.save`, `torch.load`, `torch.distributed.checkpoint` |
| calls, groups, stores | the process group itself |
| exceptions, log lines, exit codes | the process |

## What a program may say

```python
from deadrank import block, check, digest, loss, phase, samples, seam, step
```

| | |
|---|---|
| `check("norm", value, expected)` | a value beside its definition. Compute `expected` from what the rank really has |
| `check("reference.loss", value, expected)` | a value beside that of the same training on one rank: a `parallel_result_mismatch` where they differ |
| `check("evaluation.samples", counted, expected)` | samples that an evaluation counted, and those of its set |
| `check("weights.sum", held, expected)` | what the model holds after a load, and what the file has |
| `check("step_time", seconds, expected)` | how long a step took, and how long it takes elsewhere: a `low_throughput` where it is longer |
| `digest("weights", tensor, group="replica")` | ranks of a group must hold the same |
| `loss(value)` | of a loop without `backward()` |
| `samples(ids, epoch=0, group=None)` | which samples of the common set this rank's batch has |
| `step()`, `step(7)` | a step begins here, or has begun with the batch that came just before. Forward passes, backward passes and optimizers begin none then |
| `with phase("data"):` | data, forward, backward, reduce, optimizer, checkpoint, evaluate, serve |
| `seam("name", 3)`, `if block("name"):` | a number and a block that the faults `bend_value` and `skip_block` act on |

They do nothing where no simulator runs the program.

What a program does after an optimizer's step and before the next batch or forward pass belongs to the step that the optimizer ended; what it does before the
first step belongs to none. A second model in the program, such as a reference, begins steps as well. Where that gives other numbers than the loop's, call
`step()` at the head of the loop.

## An example

`scenarios/catalog/communication/metric_logged_by_the_main_process_alone.toml` and the `.py` beside it: rank 0
gathers a metric that the others never logged. The evidence is that of a real job, and no line of the program is
about the bug.

```sh
deadrank run communication/metric_logged_by_the_main_process_alone
deadrank new communication/my_bug --workload python
```

## What it needs

A Python with torch: `pip install torch` beside deadrank, or `DEADRANK_PYTHON`. `gpus = true` needs the
libraries of simulated GPUs. Where they are missing, the scenario is skipped with that sentence and counts
neither way.
)";

}  // namespace

std::string python_page() {
    return program_opening + std::string("## Settings\n\n") +
           parameter_table(scenarios::python_kind().parameters) + behind_settings;
}

}  // namespace deadrank::runners::manual
