// results/external/scratch.h — A directory of our own for as long as somebody else's tool reads it; gone
// afterwards.
#pragma once

#include <filesystem>

#include "scenarios/model/error.h"

namespace deadrank::results::external {

class Scratch {
public:
    // Below the system's temporary directory, or below `where`. Errors: io.
    static scenarios::Result<Scratch> make(const std::filesystem::path& where = {});

    Scratch(Scratch&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
    Scratch& operator=(Scratch&&) = delete;
    ~Scratch();

    const std::filesystem::path& path() const { return path_; }

private:
    explicit Scratch(std::filesystem::path path) : path_(std::move(path)) {}
    std::filesystem::path path_;
};

}  // namespace deadrank::results::external
