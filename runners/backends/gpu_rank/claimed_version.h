// runners/backends/gpu_rank/claimed_version.h — NCCL asks for its own version by name, through whoever
// exports that name first: this program. A rank can claim another release, and NCCL's own check of its peers
// sees it.
#pragma once

namespace deadrank::runners {

// `real`: NCCL's own function. `claimed`: as NCCL numbers releases; 0 = the true one.
void answer_for_version(int (*real)(int*), int claimed);
int claimed_version(int* version);  // what NCCL hears; its code

}  // namespace deadrank::runners
