// results/processes/private_directory.h — A temporary directory that no other user can read, foresee or have
// made before.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "scenarios/model/error.h"

namespace deadrank::results::processes {

// Removed with all that is in it when the object ends.
class PrivateDirectory {
public:
    // Below the system's temporary directory, or below `where`. Errors: io.
    static scenarios::Result<PrivateDirectory> make(const std::filesystem::path& where = {});

    PrivateDirectory(PrivateDirectory&& other) noexcept : path_(std::move(other.path_)) {
        other.path_.clear();
    }
    PrivateDirectory& operator=(PrivateDirectory&& other) noexcept {
        std::swap(path_, other.path_);
        return *this;
    }
    ~PrivateDirectory();

    const std::filesystem::path& path() const { return path_; }

private:
    explicit PrivateDirectory(std::filesystem::path path) : path_(std::move(path)) {}
    std::filesystem::path path_;
};

// A new directory below `parent`, of mode 700. `before` is called with its name before it is made, for a
// journal. Errors: io, and those of `before`.
scenarios::Result<std::filesystem::path> make_private_directory(
    const std::filesystem::path& parent,
    const std::function<scenarios::Result<void>(const std::filesystem::path&)>& before = {});

// The directory under a name that several processes of this user agree on. One that exists is taken only if
// it is this user's and nobody else may enter it. Errors: io.
scenarios::Result<void> share_private_directory(const std::filesystem::path& directory);

}  // namespace deadrank::results::processes
