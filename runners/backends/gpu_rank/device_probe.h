// runners/backends/gpu_rank/device_probe.h — What a job of ours would find on this machine, and whether our
// kernels compute there what they should.
#pragma once

namespace deadrank::runners {

// What a job of ours would find on this machine, as one JSON object.

int probe();

// Whether our kernels compute what they should on this machine.

// Prints what was found as one JSON object; 0 = all is right.
int check_kernels();

}  // namespace deadrank::runners
