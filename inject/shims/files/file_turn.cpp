// inject/shims/files/file_turn.cpp — Asks the simulator for this rank's turn, over the rank's channel.
#include "inject/shims/files/file_turn.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <initializer_list>
#include <string>
#include <string_view>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include "inject/shims/core/session.h"

namespace deadrank::inject::shims {

namespace {

constexpr std::uint8_t turn_kind = 0x74;  // Kind::turn of sim/managed/wire.h
constexpr std::size_t head_bytes = 16;

struct Turns {
    int channel = -1;
    std::vector<std::string> own;  // directories of Python
};

// What copies of this run keep locked while they are played; empty: there are none, or this is one.
std::string& copies_lock() {
    static std::string path;
    return path;
}

void await_copies() {
    if (copies_lock().empty()) return;
    const Inside guard;
    const int before = errno;
    const int lock = ::open(copies_lock().c_str(), O_RDONLY | O_CLOEXEC);
    while (lock >= 0 && ::flock(lock, LOCK_EX) != 0 && errno == EINTR) {
    }
    if (lock >= 0) ::close(lock);
    errno = before;
}

Turns& turns() {
    static Turns here;
    return here;
}

bool is_private(std::string_view path) {
    const auto begins = [&](std::string_view directory) { return path.starts_with(directory); };
    const auto ends = [&](std::string_view kind) { return path.ends_with(kind); };
    const auto devices = {"/proc/", "/sys/", "/dev/", "/usr/", "/lib", "/etc/"};
    const auto texts = {".py", ".pyc", ".so"};
    return std::any_of(devices.begin(), devices.end(), begins) || std::any_of(texts.begin(), texts.end(), ends) ||
           std::any_of(turns().own.begin(), turns().own.end(), begins);
}

}  // namespace

}  // namespace deadrank::inject::shims

#pragma GCC visibility push(default)
extern "C" {

// The thread that has to ask before it uses a file; 0: none has.
std::atomic<int> deadrank_turn_due = 0;

// `own`: directories whose files no rank changes, separated by colons.
void deadrank_turn_begin(int channel, const char* own) {
    auto& turns = deadrank::inject::shims::turns();
    turns.channel = channel;
    turns.own.clear();
    for (std::string_view rest = own ? own : ""; !rest.empty();) {
        const std::size_t end = std::min(rest.find(':'), rest.size());
        if (end > 0) turns.own.emplace_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
}

void deadrank_copies_begin(const char* lock) { deadrank::inject::shims::copies_lock() = lock ? lock : ""; }

void deadrank_turn_take(const char* path, int writes) {
    deadrank::inject::shims::take_file_turn(path, writes != 0);
}
}
#pragma GCC visibility pop

namespace deadrank::inject::shims {

void take_file_turn(const char* path, bool writes) {
    if (!path || Inside::now()) return;
    if (writes) await_copies();
    const int due = deadrank_turn_due.load(std::memory_order_relaxed);
    if (due == 0 || (!writes && is_private(path)) || due != ::syscall(SYS_gettid)) return;
    const int before = errno;
    deadrank_turn_due = 0;
    const std::uint8_t ask[head_bytes] = {turn_kind};
    std::uint8_t answer[head_bytes];
    const int channel = turns().channel;
    while (::send(channel, ask, sizeof ask, MSG_NOSIGNAL) < 0 && errno == EINTR) {
    }
    while (::recv(channel, answer, sizeof answer, 0) < 0 && errno == EINTR) {
    }
    errno = before;
}

}  // namespace deadrank::inject::shims
