// runners/campaign/children.cpp — A child has ended when its pipe closes; if we die, the kernel kills it.
#include "runners/campaign/children.h"

#include <cerrno>
#include <csignal>
#include <exception>
#include <poll.h>
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

// Ctrl-C and the end of a session reach the whole process group; only the parent handles them.
int live(int pipe, const std::function<std::string()>& work) {
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGHUP, SIG_IGN);
    std::signal(SIGTERM, SIG_DFL);
    try {
        return write_all(pipe, work()) ? 0 : code_thrown;
    } catch (const std::exception& thrown) {
        write_all(pipe, thrown.what());
    } catch (...) {
        write_all(pipe, "something that is no std::exception was thrown");
    }
    return code_thrown;
}

}  // namespace

scenarios::Result<void> Children::start(std::uint64_t number, const std::function<std::string()>& work) {
    auto child = results::processes::Child::fork([&](int pipe) { return live(pipe, work); });
    if (!child) {
        scenarios::Error error = child.error();
        error.remedy = "ask for fewer --jobs, or raise the limit";
        return tl::unexpected(error);
    }
    const int descriptor = child->output.descriptor();
    running_.emplace(descriptor, Running{number, std::move(*child), {}, Clock::now()});
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
    for (const pollfd& one : asked) {
        if (one.revents == 0) continue;
        const auto at = running_.find(one.fd);
        Running& running = at->second;
        if (running.child.output.read(running.answer) || running.child.output.descriptor() >= 0) continue;
        ended.push_back(reap(running));
        running_.erase(at);
    }
}

void Children::end_overdue(std::vector<Ended>& ended) {
    const auto now = Clock::now();
    for (auto at = running_.begin(); at != running_.end();) {
        Running& running = at->second;
        if (now - running.started < budget_) {
            ++at;
            continue;
        }
        running.child.send(SIGKILL);
        ended.push_back(reap(running));
        ended.back().over_budget = true;
        at = running_.erase(at);
    }
}

Ended Children::reap(Running& running) {
    Ended ended{.number = running.number, .answer = running.answer};
    ended.seconds = std::chrono::duration<double>(Clock::now() - running.started).count();
    ended.code = running.child.wait().code;
    ended.signal = running.child.wait().signal;
    return ended;
}

}  // namespace deadrank::runners::campaign
