// runners/campaign/children.cpp — A child has ended when its pipe closes; if we die, the kernel kills it.
#include "runners/campaign/children.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace deadrank::runners::campaign {

using Clock = std::chrono::steady_clock;

namespace {

constexpr int code_thrown = 70;

bool write_all(int descriptor, const std::string& text) {
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t count = ::write(descriptor, text.data() + done, text.size() - done);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        done += static_cast<std::size_t>(count);
    }
    return true;
}

// Ctrl-C reaches the whole process group; only the parent handles it.
[[noreturn]] void live(int pipe, int parent, const std::function<std::string()>& work) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(code_thrown);
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGTERM, SIG_DFL);
    int code = code_thrown;
    try {
        code = write_all(pipe, work()) ? 0 : code_thrown;
    } catch (const std::exception& thrown) {
        write_all(pipe, thrown.what());
    } catch (...) {
        write_all(pipe, "something that is no std::exception was thrown");
    }
    _exit(code);
}

tl::unexpected<scenarios::Error> none_left(const char* what) {
    return scenarios::refuse(scenarios::ErrorCode::environment,
                             fmt::format("no {} is left for a trial: {}", what, std::strerror(errno)),
                             "ask for fewer --jobs, or raise the limit");
}

}  // namespace

scenarios::Result<void> Children::start(std::uint64_t number, const std::function<std::string()>& work) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return none_left("pipe");
    const int parent = getpid();
    const int pid = fork();
    if (pid == 0) {
        close(ends[0]);
        for (const auto& [descriptor, other] : running_) close(descriptor);
        live(ends[1], parent, work);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return none_left("process");
    }
    running_[ends[0]] = {number, pid, {}, Clock::now()};
    return {};
}

std::vector<Ended> Children::wait(std::chrono::milliseconds patience) {
    std::vector<Ended> ended;
    read(patience, ended);
    end_overdue(ended);
    return ended;
}

void Children::read(std::chrono::milliseconds patience, std::vector<Ended>& ended) {
    std::vector<pollfd> asked;
    for (const auto& [descriptor, child] : running_) asked.push_back({descriptor, POLLIN, 0});
    if (::poll(asked.data(), asked.size(), static_cast<int>(patience.count())) <= 0) return;
    std::array<char, 65536> buffer;
    for (const pollfd& one : asked) {
        if (one.revents == 0) continue;
        const auto at = running_.find(one.fd);
        const ssize_t count = ::read(one.fd, buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) continue;
        if (count > 0) {
            at->second.answer.append(buffer.data(), static_cast<std::size_t>(count));
            continue;
        }
        ended.push_back(reap(at->second));
        close(one.fd);
        running_.erase(at);
    }
}

void Children::end_overdue(std::vector<Ended>& ended) {
    const auto now = Clock::now();
    for (auto at = running_.begin(); at != running_.end();) {
        const Child& child = at->second;
        if (now - child.started < budget_) {
            ++at;
            continue;
        }
        kill(child.pid, SIGKILL);
        ended.push_back(reap(child));
        ended.back().over_budget = true;
        close(at->first);
        at = running_.erase(at);
    }
}

Ended Children::reap(const Child& child) {
    Ended ended{.number = child.number, .answer = child.answer};
    ended.seconds = std::chrono::duration<double>(Clock::now() - child.started).count();
    int status = 0;
    while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
    }
    ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    ended.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return ended;
}

void Children::end_all() {
    for (const auto& [descriptor, child] : running_) {
        kill(child.pid, SIGKILL);
        reap(child);
        close(descriptor);
    }
    running_.clear();
}

}  // namespace deadrank::runners::campaign
