// inject/shims/core/process.h — What a fault does to the whole process that it runs in.
#pragma once

#include <cstdint>
#include <string>

namespace deadrank::inject::shims {

void kill_process(int signal);
void leave_process(int code, const std::string& says);

// Stops until somebody continues it. With a time, a helper process does: a stopped process cannot wake
// itself.
void stop_process(std::int64_t nanoseconds);

void sleep_for(std::int64_t nanoseconds);
[[noreturn]] void sleep_forever();

}  // namespace deadrank::inject::shims
