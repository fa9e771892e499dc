// runners/studies/elsewhere.cpp — Reads both streams until they close; a stop is looked for five times a
// second.
#include "runners/studies/elsewhere.h"

#include <array>
#include <chrono>
#include <csignal>
#include <fmt/format.h>
#include <optional>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runners/backends/process/processes.h"

namespace deadrank::runners {

namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::string> own_environment() {
    std::vector<std::string> list;
    for (char** entry = environ; entry && *entry; ++entry) list.emplace_back(*entry);
    return list;
}

// False once the stream is at its end.
bool take(int stream, std::string& text) {
    std::array<char, 65536> block;
    const ssize_t count = read(stream, block.data(), block.size());
    if (count > 0) text.append(block.data(), static_cast<std::size_t>(count));
    return count > 0 || (count < 0 && errno == EINTR);
}

// Ends the process politely, then at once.
class Ending {
public:
    explicit Ending(int pid) : pid_(pid) {}
    void insist() {
        if (!asked_) {
            kill(pid_, SIGTERM);
            asked_ = Clock::now();
        } else if (Clock::now() - *asked_ > std::chrono::seconds(5)) {
            kill(pid_, SIGKILL);
        }
    }

private:
    int pid_;
    std::optional<Clock::time_point> asked_;
};

}  // namespace

scenarios::Result<std::string> output_of(const std::vector<std::string>& command,
                                         const std::atomic<bool>& stop) {
    const auto started = start(command, own_environment());
    if (!started) return tl::unexpected(started.error());
    std::string output, errors;
    std::array<pollfd, 2> streams = {{{started->output, POLLIN, 0}, {started->errors, POLLIN, 0}}};
    Ending ending(started->pid);
    while (streams[0].fd >= 0 || streams[1].fd >= 0) {
        if (stop) ending.insist();
        if (poll(streams.data(), streams.size(), 200) <= 0) continue;
        for (std::size_t i = 0; i < streams.size(); ++i) {
            if (streams.at(i).fd < 0 || streams.at(i).revents == 0) continue;
            if (take(streams.at(i).fd, i == 0 ? output : errors)) continue;
            close(streams.at(i).fd);
            streams.at(i).fd = -1;
        }
    }
    int status = 0;
    waitpid(started->pid, &status, 0);
    if (stop || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) return output;
    return scenarios::refuse(
        scenarios::ErrorCode::environment,
        fmt::format("the other process ended with {}: {}",
                    WIFEXITED(status) ? fmt::format("code {}", WEXITSTATUS(status))
                                      : fmt::format("signal {}", WTERMSIG(status)),
                    errors.empty() ? "it said nothing" : errors.substr(0, errors.find('\n'))),
        "run `deadrank run` on the same scenarios and see");
}

}  // namespace deadrank::runners
