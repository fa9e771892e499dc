// inject/shims/files/files.cpp — The storage below a program, broken or slow: put before libc's calls on
// files. Which file a descriptor is, the kernel says; so nothing has to be remembered of how it was opened.
#include <algorithm>
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
#include "inject/shims/files/damage.h"

namespace deadrank::inject::shims {

namespace {

template <class Call>
Call behind(const char* name) {
    return reinterpret_cast<Call>(::dlsym(RTLD_NEXT, name));
}

bool watched() { return Damage::any() && !Inside::now(); }

// Of a regular file; empty for whatever else a descriptor may be.
std::string path_of(int descriptor) {
    struct stat seen {};
    if (::fstat(descriptor, &seen) != 0 || !S_ISREG(seen.st_mode)) return "";
    char link[64], path[4096];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    const ssize_t length = ::readlink(link, path, sizeof path);
    return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : "";
}

void flip(char* data, std::int64_t bit) {
    data[bit / 8] = static_cast<char>(data[bit / 8] ^ (1 << (bit % 8)));
}

std::size_t total(const iovec* parts, int count) {
    std::size_t bytes = 0;
    for (int i = 0; i < count; ++i) bytes += parts[i].iov_len;
    return bytes;
}

// `usual` is the call as it was; `rest` writes that many bytes from there. `offset` < 0: at the file's own.
template <class Usual>
ssize_t wrote(int descriptor, const iovec* parts, int count, off_t offset, const Usual& usual) {
    static const auto plain = behind<ssize_t (*)(int, const void*, size_t)>("write");
    static const auto placed = behind<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite");
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
    // What was never written leaves no hole: the descriptor only believes that it is further on.
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
int opened(int directory, const char* path, int flags, const Usual& usual) {
    if (!watched() || !path) return usual();
    const Inside guard;
    std::string whole = path;
    if (whole.starts_with("/") || directory == AT_FDCWD) {
        char here[4096];
        if (!whole.starts_with("/") && ::getcwd(here, sizeof here)) whole = std::string(here) + "/" + whole;
    }
    const bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0;
    struct stat seen {};
    const bool is_file = ::stat(path, &seen) != 0 || S_ISREG(seen.st_mode);
    const Effect effect = Damage::here().on("open", is_file ? whole : "", 0, writes);
    sleep_for(effect.wait);
    if (effect.error == 0) return usual();
    errno = effect.error;
    return -1;
}

template <class Usual>
int synced(int descriptor, const Usual& usual) {
    if (!watched()) return usual();
    const Inside guard;
    const Effect effect = Damage::here().on("sync", path_of(descriptor), 0);
    sleep_for(effect.wait);
    if (effect.error == 0) return usual();
    errno = effect.error;
    return -1;
}

void bend_at_rest(const char* path, std::int64_t bit) {
    const int file = ::open(path, O_RDWR | O_CLOEXEC);
    struct stat seen {};
    if (file < 0) return;
    if (::fstat(file, &seen) == 0 && seen.st_size > 0) {
        const off_t at = bit / 8 % seen.st_size;
        char byte = 0;
        if (::pread(file, &byte, 1, at) == 1) {
            flip(&byte, bit % 8);
            (void)!::pwrite(file, &byte, 1, at);
        }
    }
    ::close(file);
}

// Many write beside and rename: what such a file is to suffer under its name, it suffers now.
template <class Usual>
int moved(const char* from, const char* to, const Usual& usual) {
    if (!watched() || !from || !to) return usual();
    const Inside guard;
    const Effect effect = Damage::here().on("rename", to, 0);
    sleep_for(effect.wait);
    const Damage::AtRest rest = Damage::here().renamed(to);
    if (const int error = effect.error != 0 ? effect.error : rest.error; error != 0) {
        errno = error;
        return -1;
    }
    if (rest.lost) return ::unlink(from);
    if (rest.keeps >= 0) (void)!::truncate(from, rest.keeps);
    if (rest.flip >= 0) bend_at_rest(from, rest.flip);
    return usual();
}

iovec part_of(const void* data, std::size_t bytes) { return {const_cast<void*>(data), bytes}; }

}  // namespace

}  // namespace deadrank::inject::shims

using namespace deadrank::inject::shims;

#pragma GCC visibility push(default)
extern "C" {

ssize_t write(int file, const void* data, size_t bytes) {
    static const auto real = behind<ssize_t (*)(int, const void*, size_t)>("write");
    const iovec part = part_of(data, bytes);
    return wrote(file, &part, 1, -1, [&] { return real(file, data, bytes); });
}
ssize_t pwrite(int file, const void* data, size_t bytes, off_t at) {
    static const auto real = behind<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite");
    const iovec part = part_of(data, bytes);
    return wrote(file, &part, 1, at, [&] { return real(file, data, bytes, at); });
}
ssize_t writev(int file, const iovec* parts, int count) {
    static const auto real = behind<ssize_t (*)(int, const iovec*, int)>("writev");
    return wrote(file, parts, count, -1, [&] { return real(file, parts, count); });
}
ssize_t pwritev(int file, const iovec* parts, int count, off_t at) {
    static const auto real = behind<ssize_t (*)(int, const iovec*, int, off_t)>("pwritev");
    return wrote(file, parts, count, at, [&] { return real(file, parts, count, at); });
}
ssize_t pwrite64(int, const void*, size_t, off64_t) __attribute__((alias("pwrite")));
ssize_t pwritev64(int, const iovec*, int, off64_t) __attribute__((alias("pwritev")));

ssize_t read(int file, void* data, size_t bytes) {
    static const auto real = behind<ssize_t (*)(int, void*, size_t)>("read");
    const iovec part = part_of(data, bytes);
    return was_read(file, &part, 1, [&] { return real(file, data, bytes); });
}
ssize_t pread(int file, void* data, size_t bytes, off_t at) {
    static const auto real = behind<ssize_t (*)(int, void*, size_t, off_t)>("pread");
    const iovec part = part_of(data, bytes);
    return was_read(file, &part, 1, [&] { return real(file, data, bytes, at); });
}
ssize_t readv(int file, const iovec* parts, int count) {
    static const auto real = behind<ssize_t (*)(int, const iovec*, int)>("readv");
    return was_read(file, parts, count, [&] { return real(file, parts, count); });
}
ssize_t pread64(int, void*, size_t, off64_t) __attribute__((alias("pread")));

int open(const char* path, int flags, ...) {
    static const auto real = behind<int (*)(const char*, int, ...)>("open");
    va_list more;
    va_start(more, flags);
    const auto mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    return opened(AT_FDCWD, path, flags, [&] { return real(path, flags, mode); });
}
int openat(int directory, const char* path, int flags, ...) {
    static const auto real = behind<int (*)(int, const char*, int, ...)>("openat");
    va_list more;
    va_start(more, flags);
    const auto mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    return opened(directory, path, flags, [&] { return real(directory, path, flags, mode); });
}
int open64(const char*, int, ...) __attribute__((alias("open")));
int openat64(int, const char*, int, ...) __attribute__((alias("openat")));
int creat(const char* path, mode_t mode) {
    static const auto real = behind<int (*)(const char*, mode_t)>("creat");
    return opened(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, [&] { return real(path, mode); });
}
int creat64(const char*, mode_t) __attribute__((alias("creat")));

int fsync(int file) {
    static const auto real = behind<int (*)(int)>("fsync");
    return synced(file, [&] { return real(file); });
}
int fdatasync(int file) {
    static const auto real = behind<int (*)(int)>("fdatasync");
    return synced(file, [&] { return real(file); });
}

int rename(const char* from, const char* to) noexcept {
    static const auto real = behind<int (*)(const char*, const char*)>("rename");
    return moved(from, to, [&] { return real(from, to); });
}
int renameat(int there, const char* from, int here, const char* to) noexcept {
    static const auto real = behind<int (*)(int, const char*, int, const char*)>("renameat");
    const auto usual = [&] { return real(there, from, here, to); };
    return there == AT_FDCWD && here == AT_FDCWD ? moved(from, to, usual) : usual();
}

// By the rank's own hook, at the moment of a fault.
int deadrank_storage(const char* what, const char* path, long long amount, int end) {
    return Damage::here().set(what ? what : "", path ? path : "", amount, end != 0);
}
}
#pragma GCC visibility pop
