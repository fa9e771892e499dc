// runners/backends/gpu_rank/kernels_check.h — Whether our kernels compute what they should on this machine.
#pragma once

namespace deadrank::runners {

// Prints what was found as one JSON object; 0 = all is right.
int check_kernels();

}  // namespace deadrank::runners
