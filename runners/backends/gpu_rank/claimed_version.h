// runners/backends/gpu_rank/claimed_version.h — NCCL asks for its own version by name, through whoever
// exports that name first: this program. A rank can claim another release, and NCCL's own check of its peers
// sees it.
#pragma once

namespace deadrank::runners {

// Up to 2.29. Since 2.30 NCCL tells its peers the number that it was built with, whatever anybody exports.
constexpr bool claim_is_heard(int release) { return release < 23000; }

// `real`: NCCL's own function. `claimed`: as NCCL numbers releases; 0 = the true one.
void answer_for_version(int (*real)(int*), int claimed);
int claimed_version(int* version);  // what NCCL hears; its code

}  // namespace deadrank::runners
