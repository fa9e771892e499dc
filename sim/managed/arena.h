// sim/managed/arena.h — Memory that a rank shares with its proxy: payloads of collectives and messages. The
// rank makes the file longer when it needs more; the addresses are there from the beginning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sim/managed/descriptor.h"

namespace deadrank::sim::managed {

class Arena {
public:
    // Throws HostTrouble.
    Arena();
    ~Arena();
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    int descriptor() const { return file_.get(); }
    // A new file with the same content. Throws HostTrouble.
    Descriptor copy() const;
    // The memory is that file's from now on, at the same addresses. Throws HostTrouble.
    void use(Descriptor file);
    // Throws HostTrouble if the arena has no such bytes.
    std::span<std::byte> at(std::int64_t offset, std::int64_t size) const;

private:
    Descriptor file_;
    std::byte* memory_ = nullptr;
    mutable std::size_t size_ = 0;  // of the file, when it was last looked at
};

}  // namespace deadrank::sim::managed
