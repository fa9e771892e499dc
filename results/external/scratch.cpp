// results/external/scratch.cpp — mkdtemp gives it to this user alone.
#include "results/external/scratch.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>

namespace deadrank::results::external {

scenarios::Result<Scratch> Scratch::make(const std::filesystem::path& where) {
    std::error_code error;
    const auto parent = where.empty() ? std::filesystem::temp_directory_path(error) : where;
    std::string name = (parent / "deadrank-XXXXXX").string();
    if (!error && mkdtemp(name.data()) != nullptr) return Scratch(name);
    return scenarios::refuse(scenarios::ErrorCode::io,
                             fmt::format("no temporary directory {}: {}", name,
                                         error ? error.message() : std::string(strerror(errno))),
                             "set TMPDIR to a directory that may be written");
}

Scratch::~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace deadrank::results::external
