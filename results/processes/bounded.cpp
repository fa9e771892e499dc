// results/processes/bounded.cpp — Reads both pipes together until they close, and ends a program that is over
// its bounds.
#include "results/processes/bounded.h"

#include <array>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <poll.h>

namespace deadrank::results::processes {

namespace {

using Clock = std::chrono::steady_clock;

class Run {
public:
    Run(Child& child, const Bounds& bounds)
        : child_(child), bounds_(bounds), exited_(open_pidfd(child.pid())) {}

    // Until both pipes have closed and the child has exited. A grandchild may keep a pipe open after that;
    // then the child's exit counts.
    BoundedAnswer finish() {
        while (reads() || !child_.poll()) {
            std::array<pollfd, 3> watched = {{{child_.output.descriptor(), POLLIN, 0},
                                              {child_.errors.descriptor(), POLLIN, 0},
                                              {child_.poll() ? -1 : exited_.descriptor(), POLLIN, 0}}};
            const int ready = poll(watched.data(), watched.size(), 50);
            if (watched[0].revents != 0) child_.output.read(answer_.out);
            if (watched[1].revents != 0) child_.errors.read(answer_.err);
            if (child_.poll() && ready == 0) break;
            if (!child_.poll() && is_over()) stop();
        }
        if (answer_.ending != Ending::by_itself || reads()) child_.send(SIGKILL);
        const Exit& exit = child_.wait();
        if (exit.signal != 0 && answer_.ending == Ending::by_itself) answer_.ending = Ending::signal;
        answer_.signal = exit.signal;
        answer_.code = exit.signal != 0 ? 128 + exit.signal : exit.code;
        answer_.cpu_seconds = exit.cpu_seconds;
        answer_.seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
        return std::move(answer_);
    }

private:
    bool reads() const { return child_.output.descriptor() >= 0 || child_.errors.descriptor() >= 0; }

    bool is_over() {
        if (answer_.ending != Ending::by_itself) return true;
        if (Clock::now() - begin_ > bounds_.time) answer_.ending = Ending::out_of_time;
        if (answer_.out.size() + answer_.err.size() > bounds_.output)
            answer_.ending = Ending::too_much_output;
        if (bounds_.stopped && bounds_.stopped()) answer_.ending = Ending::stopped;
        return answer_.ending != Ending::by_itself;
    }

    void stop() {
        if (!asked_) {
            asked_ = Clock::now();
            if (bounds_.grace.count() > 0) child_.send(SIGTERM);
        }
        if (Clock::now() - *asked_ >= bounds_.grace) child_.send(SIGKILL);
    }

    Child& child_;
    const Bounds& bounds_;
    Stream exited_;
    BoundedAnswer answer_;
    Clock::time_point begin_ = Clock::now();
    std::optional<Clock::time_point> asked_;
};

}  // namespace

Bounds Bounds::none(std::function<bool()> stopped) {
    return {.time = std::chrono::hours(24 * 365),
            .output = std::numeric_limits<std::size_t>::max(),
            .stopped = std::move(stopped)};
}

std::string BoundedAnswer::how() const {
    switch (ending) {
        case Ending::by_itself:
            return fmt::format("ended with code {}", code);
        case Ending::signal:
            return fmt::format("was ended by signal {} ({})", signal, strsignal(signal));
        case Ending::out_of_time:
            return fmt::format("was still running after {:.1f} s and was ended", seconds);
        case Ending::too_much_output:
            return fmt::format("wrote {} bytes and was ended", out.size() + err.size());
        case Ending::stopped:
            return "was ended, since we were asked to stop";
    }
    return {};
}

std::string BoundedAnswer::last_error_text() const {
    constexpr std::size_t most = 300;
    std::string words;
    for (const char c : err) words += c == '\n' || c == '\r' || c == '\t' ? ' ' : c;
    while (!words.empty() && words.back() == ' ') words.pop_back();
    return words.size() <= most ? words : "…" + words.substr(words.size() - most);
}

scenarios::Result<BoundedAnswer> run_bounded(const std::vector<std::string>& argv, const Bounds& bounds,
                                             const std::string& input,
                                             const std::vector<std::string>& environment) {
    auto child = Child::start({.argv = argv,
                               .environment = with_own_environment(environment),
                               .input = input,
                               .group = Command::Group::own_group,
                               .ends_with_us = true});
    if (!child) return tl::unexpected(child.error());
    return Run(*child, bounds).finish();
}

}  // namespace deadrank::results::processes
