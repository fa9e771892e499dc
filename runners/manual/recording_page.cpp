// runners/manual/recording_page.cpp — The workload `recording`, for people: its settings come from its kind.
#include "runners/manual/manual_pages.h"
#include "runners/manual/markdown.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::runners::manual {

namespace {

constexpr const char* recording_opening = R"(# Workload recording

A recorded run of a real program, played again by the simulator. Each rank makes the same calls, of the same sizes, in
the same groups, after the times that it computed before them. It is a recording: no program runs, no value is
computed, and nothing that the program would decide otherwise is played. Losses are those that were recorded.

```sh
deadrank watch --record seen -- torchrun --nproc-per-node 2 train.py
deadrank new communication/at_64 --recording seen
```

The second command writes the scenario `communication/at_64.toml` and the recording `communication/at_64.json` beside it.
`[cluster]` states the ranks that were recorded. Where it states more, the recording is lifted.

)";

constexpr const char* recording_behind = R"(

## More ranks than were recorded

Two ranks become 64 where data parallelism allows it. The recorded ranks have to be replicas of neighbours: each group
lies within one replica, or joins the same place of all replicas, or holds all ranks. More ranks are more replicas, which
do as the recorded ones did. A group of all ranks grows with them.

| call | with more ranks |
|---|---|
| `all_reduce`, `broadcast`, `reduce`, `all_to_all`, `gather`, `scatter` | as large as before |
| `all_gather`, `reduce_scatter` of a group that grows | as large in all, so that each rank's part is smaller |
| `send`, `recv` | within the replica |

The number of ranks is a multiple of the size of a replica. Anything else is refused with the sizes that would do, and so
is a recording whose groups are no such replicas, or whose replicas send messages to each other. deadrank does not know
what a group is for: a group of all ranks that cuts tensors is lifted as if it averaged gradients.

## What the times mean

What a rank did up to the beginning of a call was computing, and what it did up to the end of a call was waiting. Time
in which a rank waited for a processor is left out. Computation beside a call that is under way counts as waiting where the
call ends within it. The times of calls are the simulator's, and no prediction.

## What is refused

A job that was restarted, in which a rank failed, or whose ranks ended different numbers of steps is no recording.
Files, messages to a store and processes other than ranks are not part of a recording. Faults act on calls, steps, phases,
ranks, nodes and links; nothing is bent or skipped by name.
)";

}  // namespace

std::string recording_page() {
    return recording_opening + std::string("## Settings\n\n") +
           parameter_table(sim::recorded_workload().words.parameters) + recording_behind;
}

}  // namespace deadrank::runners::manual
