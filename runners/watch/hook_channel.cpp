// runners/watch/hook_channel.cpp — The pipe is open for reading and writing, so that it does not end between
// two hooks.
#include "runners/watch/hook_channel.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

#include "runners/backends/process/launch.h"
#include "scenarios/model/document.h"

namespace deadrank::runners::watch {

namespace fs = std::filesystem;

constexpr Nanoseconds stacks_wait = 2'000'000'000;

HookPipe::~HookPipe() {
    if (pipe_ < 0) return;
    close(pipe_);
    unlink(path_.c_str());
}

void HookPipe::open(const fs::path& directory) {
    path_ = directory / "told";
    if (mkfifo(path_.c_str(), 0600) != 0 && errno != EEXIST) return;
    const int pipe = ::open(path_.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    struct stat seen {};
    if (pipe >= 0 && fstat(pipe, &seen) == 0 && S_ISFIFO(seen.st_mode))
        pipe_ = pipe;
    else if (pipe >= 0)
        close(pipe);
}

void HookPipe::read(const std::function<void(std::string_view)>& line) {
    std::array<char, 4096> part{};
    for (ssize_t came; pipe_ >= 0 && (came = ::read(pipe_, part.data(), part.size())) > 0;)
        begun_.append(part.data(), static_cast<std::size_t>(came));
    std::size_t begin = 0;
    for (std::size_t end; (end = begun_.find('\n', begin)) != std::string::npos; begin = end + 1)
        line(std::string_view(begun_).substr(begin, end - begin));
    begun_.erase(0, begin);
}

std::string stacks_of(const fs::path& evidence, const std::vector<results::Rank>& ranks) {
    const fs::path wanted = evidence / "stacks.wanted";
    std::ofstream(wanted).flush();
    const Nanoseconds until = now() + stacks_wait;
    const auto of = [&](results::Rank rank) { return evidence / fmt::format("stack{}.txt", rank); };
    const auto there = [&](results::Rank rank) { return fs::exists(of(rank)); };
    while (now() < until && !std::all_of(ranks.begin(), ranks.end(), there)) usleep(50'000);
    std::string text;
    for (const results::Rank rank : ranks) text += scenarios::read_text(of(rank)).value_or("");
    std::error_code ignored;
    fs::remove(wanted, ignored);
    return text;
}

}  // namespace deadrank::runners::watch
