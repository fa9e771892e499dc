// inject/standin/device/clock.h — Which time streams keep: the machine's, or that of a clock which the
// process owns. virtual_time.h is the same for C and Python.
#pragma once

#include <cstdint>

namespace deadrank::inject::standin::device {

bool time_is_virtual();
std::int64_t host_now();                // of the host's calling thread, ns
void host_advance(std::int64_t ns);     // virtual time only
void host_wait_until(std::int64_t at);  // virtual time only; nothing for a time that has passed
void charge_query();                    // so that a loop of cudaStreamQuery comes to an end in virtual time
void note_stream_thread();              // a stream has a thread: virtual time can no longer be chosen

}  // namespace deadrank::inject::standin::device
