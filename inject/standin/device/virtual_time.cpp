// inject/standin/device/virtual_time.cpp — The clock in use, and the functions for those who own it.
#include "inject/standin/device/virtual_time.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "inject/standin/device/clock.h"
#include "inject/standin/device/gpu_model.h"
#include "inject/standin/device/standin_memory.h"

namespace deadrank::inject::standin::device {

namespace {

std::atomic<std::int64_t> own_time{0};
deadrank_clock clock_in_use{};
std::atomic<bool> clock_chosen{false}, stream_has_thread{false};

std::int64_t machine_time() {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

}  // namespace

bool time_is_virtual() { return clock_chosen.load(std::memory_order_acquire); }
std::int64_t host_now() {
    return time_is_virtual() ? clock_in_use.now(clock_in_use.context) : machine_time();
}
void host_advance(std::int64_t ns) {
    if (time_is_virtual() && ns > 0) clock_in_use.advance(clock_in_use.context, ns);
}
void host_wait_until(std::int64_t at) { host_advance(at - host_now()); }
void charge_query() {
    constexpr std::int64_t query_ns = 100;
    host_advance(query_ns);
}
void note_stream_thread() { stream_has_thread = true; }

}  // namespace deadrank::inject::standin::device

using namespace deadrank::inject::standin;

namespace {

Stream* stream_of(void* handle) { return Devices::of_this_process().stream(handle); }

}  // namespace

extern "C" {

int deadrank_use_virtual_time(const deadrank_clock* given) {
    if (device::stream_has_thread) return -1;
    device::clock_in_use =
        given ? *given
              : deadrank_clock{.context = nullptr,
                               .now = [](void*) { return device::own_time.load(); },
                               .advance = [](void*, std::int64_t ns) { device::own_time += ns; }};
    device::clock_chosen.store(true, std::memory_order_release);
    return 0;
}
int deadrank_time_is_virtual(void) { return device::time_is_virtual() ? 1 : 0; }
int64_t deadrank_host_now(void) { return device::host_now(); }
void deadrank_host_advance(int64_t ns) { device::host_advance(ns); }

int64_t deadrank_stream_time(void* handle) {
    const Stream* stream = stream_of(handle);
    return stream ? std::max(stream->time(), device::host_now()) : device::host_now();
}
void deadrank_stream_charge(void* handle, int64_t ns) {
    if (Stream* stream = stream_of(handle)) stream->charge(ns);
}
void deadrank_stream_wait_until(void* handle, int64_t at) {
    if (Stream* stream = stream_of(handle)) stream->wait_until(at);
}
void deadrank_stream_synchronize(void* handle) {
    if (const Stream* stream = stream_of(handle)) stream->drain();
}

void deadrank_device_rates_of(int, deadrank_device_rates* rates) { *rates = device::model().rates; }
}
