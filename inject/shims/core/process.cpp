// inject/shims/core/process.cpp — Signals to oneself, and waits.
#include "inject/shims/core/process.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <spawn.h>
#include <thread>
#include <unistd.h>

namespace deadrank::inject::shims {

void kill_process(int signal) { ::kill(::getpid(), signal); }

// Without the handlers of the program, which might still talk to its peers.
void leave_process(int code, const std::string& says) {
    if (!says.empty()) std::fprintf(stderr, "%s\n", says.c_str());
    std::fflush(nullptr);
    ::_exit(code);
}

void stop_process(std::int64_t nanoseconds) {
    if (nanoseconds >= 0) {
        const std::string wake = "sleep " + std::to_string(static_cast<double>(nanoseconds) / 1e9) +
                                 "; kill -CONT " + std::to_string(::getpid());
        const char* const arguments[] = {"/bin/sh", "-c", wake.c_str(), nullptr};
        const char* const surroundings[] = {"PATH=/usr/bin:/bin", nullptr};  // no preload in the helper
        pid_t helper = 0;
        ::posix_spawn(&helper, arguments[0], nullptr, nullptr, const_cast<char* const*>(arguments),
                      const_cast<char* const*>(surroundings));
    }
    ::kill(::getpid(), SIGSTOP);
}

void sleep_for(std::int64_t nanoseconds) {
    if (nanoseconds > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(nanoseconds));
}

void sleep_forever() {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

}  // namespace deadrank::inject::shims
