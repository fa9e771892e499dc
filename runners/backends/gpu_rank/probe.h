// runners/backends/gpu_rank/probe.h — What a job of ours would find on this machine, as one JSON object.
#pragma once

namespace deadrank::runners {

int probe();

}  // namespace deadrank::runners
