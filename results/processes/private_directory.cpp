// results/processes/private_directory.cpp — The name is drawn at random, and mkdir refuses one that exists.
#include "results/processes/private_directory.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace deadrank::results::processes {

namespace fs = std::filesystem;
using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

namespace {

constexpr int tries = 100;

// Short, since programs put sockets below it, and the path of one has at most 107 bytes: Ray's need 66.
std::string drawn_name() {
    constexpr std::string_view letters = "abcdefghijkmnpqrstuvwxyz23456789";  // 32, none like another
    std::uint8_t bytes[10] = {};
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return {};
    std::string name = "deadrank-";
    for (const std::uint8_t byte : bytes) name += letters[byte % letters.size()];
    return name;
}

tl::unexpected<scenarios::Error> cannot(const fs::path& directory, const char* why) {
    return refuse(ErrorCode::io,
                  fmt::format("no directory for temporary files {}: {}", directory.string(), why),
                  "set TMPDIR to a directory that may be written");
}

}  // namespace

Result<fs::path> make_private_directory(const fs::path& parent,
                                        const std::function<Result<void>(const fs::path&)>& before) {
    for (int i = 0; i < tries; ++i) {
        const std::string name = drawn_name();
        if (name.empty()) return cannot(parent, std::strerror(errno));
        const fs::path directory = parent / name;
        if (before) {
            if (auto told = before(directory); !told) return tl::unexpected(told.error());
        }
        if (::mkdir(directory.c_str(), S_IRWXU) == 0) return directory;
        if (errno != EEXIST) return cannot(directory, std::strerror(errno));
    }
    return cannot(parent, "every name is taken");
}

Result<void> share_private_directory(const fs::path& directory) {
    if (::mkdir(directory.c_str(), S_IRWXU) == 0) return {};
    if (errno != EEXIST) return cannot(directory, std::strerror(errno));
    struct stat there {};
    if (::lstat(directory.c_str(), &there) != 0) return cannot(directory, std::strerror(errno));
    if (!S_ISDIR(there.st_mode)) return cannot(directory, "something else has this name");
    if (there.st_uid != ::geteuid()) return cannot(directory, "another user has made it");
    if ((there.st_mode & (S_IRWXG | S_IRWXO)) != 0) return cannot(directory, "other users may enter it");
    return {};
}

Result<PrivateDirectory> PrivateDirectory::make(const fs::path& where) {
    std::error_code trouble;
    const fs::path parent = where.empty() ? fs::temp_directory_path(trouble) : where;
    if (trouble) return cannot(parent, trouble.message().c_str());
    auto made = make_private_directory(parent);
    if (!made) return tl::unexpected(made.error());
    return PrivateDirectory(std::move(*made));
}

PrivateDirectory::~PrivateDirectory() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace deadrank::results::processes
