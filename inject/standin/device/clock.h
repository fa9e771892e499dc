// inject/standin/device/clock.h — Which time streams keep: the machine's, or that of a clock which the
// process owns. virtual_time.h is the same for C and Python.
#pragma once

#include <cstdint>

namespace deadrank::standin::clock {

bool is_virtual();
std::int64_t now();                // of the host's calling thread, ns
void advance(std::int64_t ns);     // virtual time only
void wait_until(std::int64_t at);  // virtual time only; nothing for a time that has passed
void charge_query();               // so that a loop of cudaStreamQuery comes to an end in virtual time
void note_thread();                // a stream has a thread: virtual time can no longer be chosen

}  // namespace deadrank::standin::clock
