// tests/bench/measuring.h — What several benchmarks share: CPU seconds, and how a long one is run once.
#pragma once

#include <benchmark/benchmark.h>
#include <ctime>

// CLOCK_THREAD_CPUTIME_ID for what runs on one thread, CLOCK_PROCESS_CPUTIME_ID for all of them together.
inline double cpu_seconds(clockid_t clock = CLOCK_THREAD_CPUTIME_ID) {
    std::timespec now{};
    ::clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

inline void once(benchmark::internal::Benchmark* bench) {
    bench->ArgName("ranks")->Iterations(1)->UseManualTime()->Unit(benchmark::kMillisecond);
}
