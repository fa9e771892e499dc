// tests/fuzz/memory_file.h — Bytes under a path, for readers that open files: a file without a directory, so
// that nothing is written to a disk a thousand times a second.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

#include "scenarios/model/error.h"

namespace deadrank::fuzz {

class MemoryFile {
public:
    explicit MemoryFile(std::string_view bytes) : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
        CHECK(descriptor_ >= 0);
        while (!bytes.empty()) {
            const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
            CHECK(written > 0);
            bytes.remove_prefix(static_cast<std::size_t>(written));
        }
    }
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;
    ~MemoryFile() { ::close(descriptor_); }

    int descriptor() const { return descriptor_; }
    std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

private:
    int descriptor_;
};

}  // namespace deadrank::fuzz
