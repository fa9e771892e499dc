// sim/managed/arena.h — Memory that a rank shares with its proxy: payloads of collectives and messages. Sparse, so
// that only what is touched costs anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sim/managed/descriptor.h"

namespace deadrank::sim::managed {

class Arena {
public:
    // Throws HostTrouble.
    explicit Arena(std::size_t size);
    ~Arena();
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    int descriptor() const { return file_.get(); }
    // Throws HostTrouble if the arena has no such bytes.
    std::span<std::byte> at(std::int64_t offset, std::int64_t size) const;

private:
    Descriptor file_;
    std::byte* memory_ = nullptr;
    std::size_t size_;
};

}  // namespace deadrank::sim::managed
