// inject/standin/device/virtual_time.cpp — The clock in use, and the functions for those who own it.
#include "inject/standin/device/virtual_time.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "inject/standin/device/clock.h"
#include "inject/standin/device/gpu_model.h"
#include "inject/standin/device/standin_memory.h"

namespace deadrank::standin::clock {

namespace {

std::atomic<std::int64_t> own_time{0};
deadrank_clock in_use{};
std::atomic<bool> chosen{false}, has_thread{false};

std::int64_t machine_time() {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

}  // namespace

bool is_virtual() { return chosen.load(std::memory_order_acquire); }
std::int64_t now() { return is_virtual() ? in_use.now(in_use.context) : machine_time(); }
void advance(std::int64_t ns) {
    if (is_virtual() && ns > 0) in_use.advance(in_use.context, ns);
}
void wait_until(std::int64_t at) { advance(at - now()); }
void charge_query() {
    constexpr std::int64_t query_ns = 100;
    advance(query_ns);
}
void note_thread() { has_thread = true; }

}  // namespace deadrank::standin::clock

using namespace deadrank::standin;

namespace {

Stream* stream_of(void* handle) { return Devices::of_this_process().stream(handle); }

}  // namespace

extern "C" {

int deadrank_use_virtual_time(const deadrank_clock* given) {
    if (clock::has_thread) return -1;
    clock::in_use = given ? *given
                          : deadrank_clock{.context = nullptr,
                                           .now = [](void*) { return clock::own_time.load(); },
                                           .advance = [](void*, std::int64_t ns) { clock::own_time += ns; }};
    clock::chosen.store(true, std::memory_order_release);
    return 0;
}
int deadrank_time_is_virtual(void) { return clock::is_virtual() ? 1 : 0; }
int64_t deadrank_host_now(void) { return clock::now(); }
void deadrank_host_advance(int64_t ns) { clock::advance(ns); }

int64_t deadrank_stream_time(void* handle) {
    const Stream* stream = stream_of(handle);
    return stream ? std::max(stream->time(), clock::now()) : clock::now();
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

void deadrank_device_rates_of(int, deadrank_device_rates* rates) { *rates = gpu_model::in_use().rates; }
}
