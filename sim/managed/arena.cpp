// sim/managed/arena.cpp — Memory that a rank shares with its proxy: payloads of collectives and messages.
#include "sim/managed/arena.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <utility>

#include "sim/managed/trouble.h"

namespace deadrank::sim::managed {

namespace {

constexpr std::size_t addresses = std::size_t{1} << 36;  // 2,000 ranks fit into 47 bits
constexpr std::size_t size_at_first = 1 << 20;

[[noreturn]] void no_copy() {
    throw HostTrouble(fmt::format("the shared memory of a rank cannot be copied: {}", std::strerror(errno)),
                      "free memory, or play fewer runs at once (--jobs)");
}

}  // namespace

Arena::Arena() : size_(size_at_first) {
    file_ = Descriptor(::memfd_create("deadrank-arena", MFD_CLOEXEC));
    if (!file_ || ::ftruncate(file_.get(), static_cast<off_t>(size_)) != 0) {
        const int error = errno;
        throw HostTrouble(fmt::format("no shared memory for a rank: {}", std::strerror(error)),
                          error == EFBIG
                              ? "raise the limit on the size of files (`ulimit -f`)"
                              : "raise the limit on open files (`ulimit -n`), or play fewer ranks");
    }
    void* mapped =
        ::mmap(nullptr, addresses, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_.get(), 0);
    if (mapped == MAP_FAILED)
        throw HostTrouble(
            fmt::format("no address space for the shared memory of a rank: {}", std::strerror(errno)),
            "raise `ulimit -v`, or play fewer ranks");
    memory_ = static_cast<std::byte*>(mapped);
}

Arena::~Arena() {
    if (memory_) ::munmap(memory_, addresses);
}

Descriptor Arena::copy() const {
    struct stat now {};
    Descriptor file(::memfd_create("deadrank-arena", MFD_CLOEXEC));
    if (!file || ::fstat(file_.get(), &now) != 0 || ::ftruncate(file.get(), now.st_size) != 0) no_copy();
    for (off_t at = 0; at < now.st_size;) {
        const ssize_t written =
            ::pwrite(file.get(), memory_ + at, static_cast<std::size_t>(now.st_size - at), at);
        if (written <= 0 && errno != EINTR) no_copy();
        if (written > 0) at += written;
    }
    return file;
}

void Arena::use(Descriptor file) {
    void* mapped = ::mmap(memory_, addresses, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED,
                          file.get(), 0);
    if (mapped == MAP_FAILED) no_copy();
    file_ = std::move(file);
}

std::span<std::byte> Arena::at(std::int64_t offset, std::int64_t size) const {
    struct stat now {};
    if (offset >= 0 && size >= 0 && offset + size > static_cast<std::int64_t>(size_) &&
        ::fstat(file_.get(), &now) == 0)
        size_ = static_cast<std::size_t>(now.st_size);
    const auto total = static_cast<std::int64_t>(std::min(size_, addresses));
    if (offset < 0 || size < 0 || offset > total || size > total - offset)
        throw HostTrouble(fmt::format("a rank named {} bytes at {} of an arena of {}", size, offset, total),
                          "internal error: report it with the program");
    return {memory_ + offset, static_cast<std::size_t>(size)};
}

}  // namespace deadrank::sim::managed
