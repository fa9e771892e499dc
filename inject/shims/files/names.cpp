// inject/shims/files/names.cpp — Wraps libc's calls that change what a name refers to, or its mode: a file
// gets its name, loses it, or is replaced by another one.
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "inject/shims/core/session.h"
#include "inject/shims/files/file_calls.h"

namespace deadrank::inject::shims {

namespace {

// Kept, and never damaged. `follow`: the call acts on what a link leads to.
template <class Usual>
int changed(int directory, const char* path, bool follow, const Usual& usual) {
    take_file_turn(path, true);
    if (!Keeper::on() || Inside::now() || !path) return usual();
    const Inside guard;
    const int before = errno;
    Keeper::here().keep(place_of(directory, path, follow));
    errno = before;
    return usual();
}

// A file may be changed under its second name as well as under its first.
template <class Usual>
int linked(int there, const char* from, int here, const char* to, const Usual& usual) {
    take_file_turn(to, true);
    if (!Keeper::on() || Inside::now() || !from || !to) return usual();
    const Inside guard;
    const int before = errno;
    Keeper::here().keep(place_of(there, from, true));
    Keeper::here().keep(place_of(here, to, false));
    errno = before;
    return usual();
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

// Many programs write a temporary file and rename it: damage meant for the final name is done now.
template <class Usual>
int moved(int there, const char* from, int here, const char* to, const Usual& usual) {
    take_file_turn(to, true);
    if (!guarded() || !from || !to) return usual();
    const Inside guard;
    const int before = errno;
    const std::string old_name = place_of(there, from, false), name = place_of(here, to, false);
    Keeper::here().keep_moved(old_name, name);
    errno = before;
    if (!Damage::any()) return usual();
    const Effect effect = Damage::here().on("rename", name, 0);
    sleep_for(effect.wait);
    struct stat seen {};
    Damage::AtRest rest;
    if (::lstat(old_name.c_str(), &seen) == 0 && S_ISREG(seen.st_mode))
        rest = Damage::here().renamed(name, seen.st_size);
    errno = before;
    if (const int error = effect.error != 0 ? effect.error : rest.error; error != 0) {
        errno = error;
        return -1;
    }
    if (rest.lost) return ::unlink(old_name.c_str());
    if (rest.keeps >= 0) (void)!::truncate(old_name.c_str(), rest.keeps);
    if (rest.flip >= 0) bend_at_rest(old_name.c_str(), rest.flip);
    return usual();
}

}  // namespace

}  // namespace deadrank::inject::shims

using namespace deadrank::inject::shims;

#pragma GCC visibility push(default)
extern "C" {

int rename(const char* from, const char* to) noexcept {
    static const auto real = next_symbol<int (*)(const char*, const char*)>("rename");
    return moved(AT_FDCWD, from, AT_FDCWD, to, [&] { return real(from, to); });
}
int renameat(int there, const char* from, int here, const char* to) noexcept {
    static const auto real = next_symbol<int (*)(int, const char*, int, const char*)>("renameat");
    return moved(there, from, here, to, [&] { return real(there, from, here, to); });
}
int renameat2(int there, const char* from, int here, const char* to, unsigned flags) noexcept {
    static const auto real = next_symbol<int (*)(int, const char*, int, const char*, unsigned)>("renameat2");
    return moved(there, from, here, to, [&] { return real(there, from, here, to, flags); });
}
int link(const char* from, const char* to) noexcept {
    static const auto real = next_symbol<int (*)(const char*, const char*)>("link");
    return linked(AT_FDCWD, from, AT_FDCWD, to, [&] { return real(from, to); });
}
int linkat(int there, const char* from, int here, const char* to, int flags) noexcept {
    static const auto real = next_symbol<int (*)(int, const char*, int, const char*, int)>("linkat");
    return linked(there, from, here, to, [&] { return real(there, from, here, to, flags); });
}
int symlink(const char* leads, const char* path) noexcept {
    static const auto real = next_symbol<int (*)(const char*, const char*)>("symlink");
    return changed(AT_FDCWD, path, false, [&] { return real(leads, path); });
}
int symlinkat(const char* leads, int directory, const char* path) noexcept {
    static const auto real = next_symbol<int (*)(const char*, int, const char*)>("symlinkat");
    return changed(directory, path, false, [&] { return real(leads, directory, path); });
}
int unlink(const char* path) noexcept {
    static const auto real = next_symbol<int (*)(const char*)>("unlink");
    return changed(AT_FDCWD, path, false, [&] { return real(path); });
}
int unlinkat(int directory, const char* path, int flags) noexcept {
    static const auto real = next_symbol<int (*)(int, const char*, int)>("unlinkat");
    return changed(directory, path, false, [&] { return real(directory, path, flags); });
}
int remove(const char* path) noexcept {
    static const auto real = next_symbol<int (*)(const char*)>("remove");
    return changed(AT_FDCWD, path, false, [&] { return real(path); });
}
int rmdir(const char* path) noexcept {
    static const auto real = next_symbol<int (*)(const char*)>("rmdir");
    return changed(AT_FDCWD, path, false, [&] { return real(path); });
}
int mkdir(const char* path, mode_t mode) noexcept {
    static const auto real = next_symbol<int (*)(const char*, mode_t)>("mkdir");
    return changed(AT_FDCWD, path, false, [&] { return real(path, mode); });
}
int mkdirat(int directory, const char* path, mode_t mode) noexcept {
    static const auto real = next_symbol<int (*)(int, const char*, mode_t)>("mkdirat");
    return changed(directory, path, false, [&] { return real(directory, path, mode); });
}
int mkfifo(const char* path, mode_t mode) noexcept {
    static const auto real = next_symbol<int (*)(const char*, mode_t)>("mkfifo");
    return changed(AT_FDCWD, path, false, [&] { return real(path, mode); });
}
int mkfifoat(int directory, const char* path, mode_t mode) noexcept {
    static const auto real = next_symbol<int (*)(int, const char*, mode_t)>("mkfifoat");
    return changed(directory, path, false, [&] { return real(directory, path, mode); });
}
int mknod(const char* path, mode_t mode, dev_t device) noexcept {
    static const auto real = next_symbol<int (*)(const char*, mode_t, dev_t)>("mknod");
    return changed(AT_FDCWD, path, false, [&] { return real(path, mode, device); });
}
int mknodat(int directory, const char* path, mode_t mode, dev_t device) noexcept {
    static const auto real = next_symbol<int (*)(int, const char*, mode_t, dev_t)>("mknodat");
    return changed(directory, path, false, [&] { return real(directory, path, mode, device); });
}
// The address of a Unix socket is a path, except an abstract one, which begins with a zero byte.
int bind(int socket, const sockaddr* address, socklen_t size) noexcept {
    static const auto real = next_symbol<int (*)(int, const sockaddr*, socklen_t)>("bind");
    const auto usual = [&] { return real(socket, address, size); };
    const auto* local = reinterpret_cast<const sockaddr_un*>(address);
    constexpr auto head = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path));
    if (!address || size <= head || address->sa_family != AF_UNIX || local->sun_path[0] == '\0')
        return usual();
    const std::string path(local->sun_path, strnlen(local->sun_path, size - head));
    return changed(AT_FDCWD, path.c_str(), false, usual);
}
int truncate(const char* path, off_t bytes) noexcept {
    static const auto real = next_symbol<int (*)(const char*, off_t)>("truncate");
    return changed(AT_FDCWD, path, true, [&] { return real(path, bytes); });
}
int truncate64(const char*, off64_t) noexcept __attribute__((alias("truncate")));
int chmod(const char* path, mode_t mode) noexcept {
    static const auto real = next_symbol<int (*)(const char*, mode_t)>("chmod");
    return changed(AT_FDCWD, path, true, [&] { return real(path, mode); });
}
int fchmodat(int directory, const char* path, mode_t mode, int flags) noexcept {
    static const auto real = next_symbol<int (*)(int, const char*, mode_t, int)>("fchmodat");
    return changed(directory, path, (flags & AT_SYMLINK_NOFOLLOW) == 0,
                   [&] { return real(directory, path, mode, flags); });
}
int fchmod(int file, mode_t mode) noexcept {
    static const auto real = next_symbol<int (*)(int, mode_t)>("fchmod");
    const std::string path = "/proc/self/fd/" + std::to_string(file);
    return changed(AT_FDCWD, path.c_str(), true, [&] { return real(file, mode); });
}
}
#pragma GCC visibility pop
