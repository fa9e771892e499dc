// inject/core/kept.h — Copies of files from before a job first changed them: a directory, and a list with a
// line for each path. Written inside the job's processes, read by the code that restores them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace deadrank::inject {

constexpr const char* kept_list = "list";    // its name in the directory; without it nothing is kept there
constexpr const char* kept_alive = "alive";  // 8 bytes: when the job last changed something, as std::int64_t

// Where a path has several lines, the first one counts.
struct Kept {
    enum class What {
        absent,     // there was nothing
        file,       // `copy` in the directory has its content
        link,       // it led to `copy`
        directory,  // it was there
        unkept,     // no copy could be made, for the reason in `copy`
    };
    What what = What::absent;
    std::string path;  // absolute, through no symbolic link
    std::string copy;
    std::string digest;  // of a file's content
    std::uint32_t mode = 0;
    std::int64_t written = 0;  // nanoseconds since 1970
    std::uint64_t device = 0, inode = 0;

    bool operator==(const Kept&) const = default;
};

std::string line_of(const Kept& kept);  // with its newline; a path may hold any byte
std::optional<Kept> kept_in(std::string_view line);

// From the beginning to the end; empty where it cannot be read.
std::string digest_of(int descriptor);

// All of one file into another, empty one: 0 or the errno. The digest is that of what was read.
int copy_content(int from, int to, std::string& digest);

}  // namespace deadrank::inject
