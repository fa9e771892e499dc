// inject/standin/device/virtual_time.h — Streams in virtual time, for a process that owns its clock. Plain C,
// so that Python and operators/ can use it without the rest. Times are nanoseconds.
//
// Without a clock, each stream has a thread and time is the machine's. With one, no thread is started: work
// runs at once on the thread that enqueues it, each stream keeps the time at which its work will have ended,
// and waiting moves the host's clock to that time. Results are a function of the program alone.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct deadrank_clock {
    void* context;
    int64_t (*now)(void* context);               // of the calling thread
    void (*advance)(void* context, int64_t ns);  // the host works or waits for so long; ns >= 0
};

// Call before the first stream is used, in a forked child rather than in its parent. The clock is copied.
// Null chooses the library's own clock: it starts at 0 and moves only by deadrank_host_advance. Returns 0, or
// -1 if a stream already has a thread.
int deadrank_use_virtual_time(const struct deadrank_clock* clock);
int deadrank_time_is_virtual(void);
int64_t deadrank_host_now(void);
void deadrank_host_advance(int64_t ns);

// `stream` is a cudaStream_t: null is the current device's default stream. Unknown streams are ignored, and
// their time is the host's.
int64_t deadrank_stream_time(void* stream);                 // when all that was enqueued has ended
void deadrank_stream_charge(void* stream, int64_t ns);      // a kernel of this duration
void deadrank_stream_wait_until(void* stream, int64_t at);  // later work begins at `at` or later
void deadrank_stream_synchronize(void* stream);             // the host waits for the stream

// What a kernel of a device costs at most: see device/gpu_model.h for the sources.
struct deadrank_device_rates {
    double bytes_per_second;          // device memory
    double host_bytes_per_second;     // copies between host and device
    double peer_bytes_per_second;     // copies between devices
    double flops_single, flops_half;  // matrix products, per second
    int64_t launch_ns;                // of the host, for each kernel
    int64_t shortest_kernel_ns;
};
void deadrank_device_rates_of(int device, struct deadrank_device_rates* rates);

#ifdef __cplusplus
}
#endif
