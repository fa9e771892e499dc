// inject/shims/files/files_shim.cpp — Breaks or slows the storage below a program, by wrapping libc's calls
// on files. The kernel says which file a descriptor is, so nothing of how it was opened is remembered.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <vector>

#include "inject/shims/core/session.h"
#include "inject/shims/files/file_calls.h"

namespace deadrank::inject::shims {

namespace {

// Of a regular file; empty for any other descriptor.
std::string path_of(int descriptor) {
    struct stat seen {};
    if (::fstat(descriptor, &seen) != 0 || !S_ISREG(seen.st_mode)) return "";
    char link[64], path[4096];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    const ssize_t length = ::readlink(link, path, sizeof path);
    return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : "";
}

// The first time that this machine itself, and no fault, refused to keep what the program wrote.
struct Refusal {
    std::atomic<int> number{0};
    char path[512] = {};
};
Refusal refusal;

// What a call on a file returned, with its error noted where the machine is to blame for it.
template <class Answer>
Answer noted(Answer answer, int descriptor, const char* path) {
    const int number = errno;
    const bool of_machine =
        number == ENOSPC || number == EDQUOT || number == EFBIG || number == ENFILE || number == EIO;
    if (answer >= 0 || !of_machine) return answer;
    const std::string file = path ? std::string(path) : path_of(descriptor);
    int none = 0;
    if (!file.empty() && refusal.number.compare_exchange_strong(none, number))
        std::snprintf(refusal.path, sizeof refusal.path, "%s", file.c_str());
    errno = number;
    return answer;
}

std::size_t total(const iovec* parts, int count) {
    std::size_t bytes = 0;
    for (int i = 0; i < count; ++i) bytes += parts[i].iov_len;
    return bytes;
}

// `usual` is the call as it was; `rest` writes that many bytes from there. `offset` < 0: at the file's own.
template <class Usual>
ssize_t wrote(int descriptor, const iovec* parts, int count, off_t offset, const Usual& real) {
    const auto usual = [&] { return noted(real(), descriptor, nullptr); };
    static const auto plain = next_symbol<ssize_t (*)(int, const void*, size_t)>("write");
    static const auto placed = next_symbol<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite");
    if (Keeper::on() && !Inside::now()) Keeper::here().beat();
    if (!watched()) return usual();
    const Inside guard;
    const int before = errno;
    const std::size_t bytes = total(parts, count);
    const Effect effect = Damage::here().on("write", path_of(descriptor), bytes);
    errno = before;
    sleep_for(effect.wait);
    if (effect.error != 0) {
        errno = effect.error;
        return -1;
    }
    if (effect.allowed == bytes && effect.flip < 0) return usual();
    std::vector<char> all;
    for (int i = 0; i < count; ++i) {
        const auto* from = static_cast<const char*>(parts[i].iov_base);
        all.insert(all.end(), from, from + parts[i].iov_len);
    }
    if (effect.flip >= 0) flip(all.data(), effect.flip);
    ssize_t done = 0;
    if (effect.allowed > 0)
        done = offset < 0 ? plain(descriptor, all.data(), effect.allowed)
                          : placed(descriptor, all.data(), effect.allowed, offset);
    if (done < 0 || !effect.pretends) return done;
    // A write that was lost leaves no hole: only the position of the descriptor moves on.
    if (offset < 0) ::lseek(descriptor, static_cast<off_t>(bytes) - done, SEEK_CUR);
    return static_cast<ssize_t>(bytes);
}

template <class Usual>
ssize_t was_read(int descriptor, const iovec* parts, int count, const Usual& usual) {
    if (!watched()) return usual();
    const Inside guard;
    const ssize_t got = usual();
    if (got <= 0) return got;
    const Effect effect = Damage::here().on("read", path_of(descriptor), static_cast<std::size_t>(got));
    sleep_for(effect.wait);
    if (effect.error != 0) {
        errno = effect.error;
        return -1;
    }
    std::int64_t bit = effect.flip;
    for (int i = 0; i < count && bit >= 0; ++i) {
        const auto bits = static_cast<std::int64_t>(parts[i].iov_len) * 8;
        if (bit < bits) flip(static_cast<char*>(parts[i].iov_base), bit);
        bit = bit < bits ? -1 : bit - bits;
    }
    return got;
}

template <class Usual>
int opened(int directory, const char* path, int flags, const Usual& real) {
    const auto usual = [&] { return noted(real(), -1, path); };
    const bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0;
    take_file_turn(path, writes);
    if (!guarded() || !path) return usual();
    const bool nameless = (flags & O_TMPFILE) == O_TMPFILE;
    if (!Damage::any() && (!writes || nameless)) return usual();
    const Inside guard;
    const int before = errno;
    const std::string whole = place_of(directory, path, (flags & O_NOFOLLOW) == 0);
    if (writes && !nameless) Keeper::here().keep(whole);
    errno = before;
    if (!Damage::any()) return usual();
    struct stat seen {};
    const bool is_file = ::stat(whole.c_str(), &seen) != 0 || S_ISREG(seen.st_mode);
    const Effect effect = Damage::here().on("open", is_file ? whole : "", 0, writes);
    errno = before;
    sleep_for(effect.wait);
    if (effect.error == 0) return usual();
    errno = effect.error;
    return -1;
}

// Streams open their files inside libc.
template <class Usual>
FILE* streamed(const char* path, const char* mode, const Usual& usual) {
    const bool writes = mode && std::strpbrk(mode, "wa+");
    take_file_turn(path, writes);
    if (!Keeper::on() || Inside::now() || !path || !writes) return usual();
    const Inside guard;
    const int before = errno;
    Keeper::here().keep(place_of(AT_FDCWD, path, true));
    errno = before;
    return usual();
}

template <class Usual>
int synced(int descriptor, const Usual& real) {
    const auto usual = [&] { return noted(real(), descriptor, nullptr); };
    if (!watched()) return usual();
    const Inside guard;
    const Effect effect = Damage::here().on("sync", path_of(descriptor), 0);
    sleep_for(effect.wait);
    if (effect.error == 0) return usual();
    errno = effect.error;
    return -1;
}

iovec part_of(const void* data, std::size_t bytes) { return {const_cast<void*>(data), bytes}; }

}  // namespace

}  // namespace deadrank::inject::shims

using namespace deadrank::inject::shims;

#pragma GCC visibility push(default)
extern "C" {

ssize_t write(int file, const void* data, size_t bytes) {
    static const auto real = next_symbol<ssize_t (*)(int, const void*, size_t)>("write");
    const iovec part = part_of(data, bytes);
    return wrote(file, &part, 1, -1, [&] { return real(file, data, bytes); });
}
ssize_t pwrite(int file, const void* data, size_t bytes, off_t at) {
    static const auto real = next_symbol<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite");
    const iovec part = part_of(data, bytes);
    return wrote(file, &part, 1, at, [&] { return real(file, data, bytes, at); });
}
ssize_t writev(int file, const iovec* parts, int count) {
    static const auto real = next_symbol<ssize_t (*)(int, const iovec*, int)>("writev");
    return wrote(file, parts, count, -1, [&] { return real(file, parts, count); });
}
ssize_t pwritev(int file, const iovec* parts, int count, off_t at) {
    static const auto real = next_symbol<ssize_t (*)(int, const iovec*, int, off_t)>("pwritev");
    return wrote(file, parts, count, at, [&] { return real(file, parts, count, at); });
}
ssize_t pwrite64(int, const void*, size_t, off64_t) __attribute__((alias("pwrite")));
ssize_t pwritev64(int, const iovec*, int, off64_t) __attribute__((alias("pwritev")));

ssize_t read(int file, void* data, size_t bytes) {
    static const auto real = next_symbol<ssize_t (*)(int, void*, size_t)>("read");
    const iovec part = part_of(data, bytes);
    return was_read(file, &part, 1, [&] { return real(file, data, bytes); });
}
ssize_t pread(int file, void* data, size_t bytes, off_t at) {
    static const auto real = next_symbol<ssize_t (*)(int, void*, size_t, off_t)>("pread");
    const iovec part = part_of(data, bytes);
    return was_read(file, &part, 1, [&] { return real(file, data, bytes, at); });
}
ssize_t readv(int file, const iovec* parts, int count) {
    static const auto real = next_symbol<ssize_t (*)(int, const iovec*, int)>("readv");
    return was_read(file, parts, count, [&] { return real(file, parts, count); });
}
ssize_t pread64(int, void*, size_t, off64_t) __attribute__((alias("pread")));

int open(const char* path, int flags, ...) {
    static const auto real = next_symbol<int (*)(const char*, int, ...)>("open");
    va_list more;
    va_start(more, flags);
    const auto mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    return opened(AT_FDCWD, path, flags, [&] { return real(path, flags, mode); });
}
int openat(int directory, const char* path, int flags, ...) {
    static const auto real = next_symbol<int (*)(int, const char*, int, ...)>("openat");
    va_list more;
    va_start(more, flags);
    const auto mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    return opened(directory, path, flags, [&] { return real(directory, path, flags, mode); });
}
int open64(const char*, int, ...) __attribute__((alias("open")));
int openat64(int, const char*, int, ...) __attribute__((alias("openat")));
int creat(const char* path, mode_t mode) {
    static const auto real = next_symbol<int (*)(const char*, mode_t)>("creat");
    return opened(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, [&] { return real(path, mode); });
}
int creat64(const char*, mode_t) __attribute__((alias("creat")));
// The names under which compilers call them with checks of their arguments.
int __open_2(const char* path, int flags) {
    static const auto real = next_symbol<int (*)(const char*, int)>("__open_2");
    return opened(AT_FDCWD, path, flags, [&] { return real(path, flags); });
}
int __openat_2(int directory, const char* path, int flags) {
    static const auto real = next_symbol<int (*)(int, const char*, int)>("__openat_2");
    return opened(directory, path, flags, [&] { return real(directory, path, flags); });
}
int __open64_2(const char*, int) __attribute__((alias("__open_2")));
int __openat64_2(int, const char*, int) __attribute__((alias("__openat_2")));

FILE* fopen(const char* path, const char* mode) {
    static const auto real = next_symbol<FILE* (*)(const char*, const char*)>("fopen");
    return streamed(path, mode, [&] { return real(path, mode); });
}
FILE* freopen(const char* path, const char* mode, FILE* stream) {
    static const auto real = next_symbol<FILE* (*)(const char*, const char*, FILE*)>("freopen");
    return streamed(path, mode, [&] { return real(path, mode, stream); });
}
FILE* fopen64(const char*, const char*) __attribute__((alias("fopen")));
FILE* freopen64(const char*, const char*, FILE*) __attribute__((alias("freopen")));

int fsync(int file) {
    static const auto real = next_symbol<int (*)(int)>("fsync");
    return synced(file, [&] { return real(file); });
}
int fdatasync(int file) {
    static const auto real = next_symbol<int (*)(int)>("fdatasync");
    return synced(file, [&] { return real(file); });
}

// By the rank's own hook, at the moment of a fault.
int deadrank_storage(const char* what, const char* path, long long amount, int end) {
    return Damage::here().set(what ? what : "", path ? path : "", amount, end != 0);
}
// The same, with the index of the fault: when it first damages something, that goes to the truth.
int deadrank_storage_fault(const char* what, const char* path, long long amount, int end, long long fault) {
    return Damage::here().set(what ? what : "", path ? path : "", amount, end != 0, fault);
}

// The file that this machine refused to keep, where it did, and the error's number; 0: there is none.
int deadrank_refused(char* path, unsigned long size) {
    if (refusal.number.load() != 0 && size > 0) std::snprintf(path, size, "%s", refusal.path);
    return refusal.number.load();
}

// By a forked process once its environment is that of its job.
void deadrank_keep_begin() { Keeper::begin(); }

// Called before a file at rest is damaged: 1 where no copy is kept, so that it must not be.
int deadrank_keep(const char* path) {
    const Inside guard;
    return Keeper::on() && path && Keeper::here().keep(place_of(AT_FDCWD, path, true)) ? 0 : 1;
}
}
#pragma GCC visibility pop
