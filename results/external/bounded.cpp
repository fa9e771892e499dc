// results/external/bounded.cpp — The program leads a process group of its own, so that ending it ends its
// children too.
#include "results/external/bounded.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include "results/external/tool_program.h"

extern char** environ;

namespace deadrank::results::external {

namespace {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;
using Clock = std::chrono::steady_clock;

// The given variables, then ours with other names: when a name occurs twice, shells take the last and others
// the first.
std::vector<std::string> with_ours(const std::vector<std::string>& given) {
    std::vector<std::string> variables = given;
    for (char** one = environ; *one != nullptr; ++one) {
        const std::string_view line = *one;
        const std::string_view name = line.substr(0, line.find('=') + 1);
        const bool replaced = std::any_of(given.begin(), given.end(), [&](const std::string& other) {
            return !name.empty() && other.starts_with(name);
        });
        if (!replaced) variables.emplace_back(line);
    }
    return variables;
}

// posix_spawn's two attribute objects, freed together.
struct SpawnSettings {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    SpawnSettings(const std::string& input, int out, int err) {
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, 0, input.empty() ? "/dev/null" : input.c_str(), O_RDONLY,
                                         0);
        posix_spawn_file_actions_adddup2(&actions, out, 1);
        posix_spawn_file_actions_adddup2(&actions, err, 2);
        posix_spawnattr_init(&attributes);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
        posix_spawnattr_setpgroup(&attributes, 0);
    }
    SpawnSettings(const SpawnSettings&) = delete;
    SpawnSettings& operator=(const SpawnSettings&) = delete;
    ~SpawnSettings() {
        posix_spawn_file_actions_destroy(&actions);
        posix_spawnattr_destroy(&attributes);
    }
};

class Watch {
public:
    Watch(pid_t child, const Bounds& bounds, BoundedAnswer& answer)
        : child_(child), bounds_(bounds), answer_(answer), begin_(Clock::now()) {}

    // Until both pipes are closed and the child has ended. A grandchild may keep a pipe open after that; then
    // the child's end counts.
    void read_all(int out, int err) {
        std::array<pollfd, 2> watched = {{{out, POLLIN, 0}, {err, POLLIN, 0}}};
        bool ended = false;
        while (watched[0].fd >= 0 || watched[1].fd >= 0 || !ended) {
            const int ready = poll(watched.data(), watched.size(), 50);
            if (ready > 0) take(watched[0], answer_.out), take(watched[1], answer_.err);
            if (!ended) ended = reap();
            if (ended && ready == 0) break;
            if (!ended && over()) kill(-child_, SIGKILL);
        }
        if (answer_.ending != Ending::by_itself || watched[0].fd >= 0 || watched[1].fd >= 0)
            kill(-child_, SIGKILL);
        answer_.seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    }

private:
    static void take(pollfd& from, std::string& to) {
        if (from.fd < 0 || from.revents == 0) return;
        std::array<char, 65536> buffer;
        const ssize_t got = ::read(from.fd, buffer.data(), buffer.size());
        if (got > 0)
            to.append(buffer.data(), static_cast<std::size_t>(got));
        else if (got == 0 || errno != EINTR)
            from.fd = -1;
    }

    bool reap() {
        int status = 0;
        if (waitpid(child_, &status, WNOHANG) != child_) return false;
        if (WIFEXITED(status)) answer_.code = WEXITSTATUS(status);
        if (WIFSIGNALED(status)) {
            answer_.signal = WTERMSIG(status);
            if (answer_.ending == Ending::by_itself) answer_.ending = Ending::signal;
        }
        return true;
    }

    bool over() {
        if (answer_.ending != Ending::by_itself) return true;
        if (Clock::now() - begin_ > bounds_.time) answer_.ending = Ending::out_of_time;
        if (answer_.out.size() + answer_.err.size() > bounds_.output)
            answer_.ending = Ending::too_much_output;
        if (bounds_.stop && bounds_.stop->load()) answer_.ending = Ending::stopped;
        return answer_.ending != Ending::by_itself;
    }

    pid_t child_;
    const Bounds& bounds_;
    BoundedAnswer& answer_;
    Clock::time_point begin_;
};

}  // namespace

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

std::string BoundedAnswer::last_words() const {
    constexpr std::size_t most = 300;
    std::string words;
    for (const char c : err) words += c == '\n' || c == '\r' || c == '\t' ? ' ' : c;
    while (!words.empty() && words.back() == ' ') words.pop_back();
    return words.size() <= most ? words : "…" + words.substr(words.size() - most);
}

Result<BoundedAnswer> run_bounded(const std::vector<std::string>& argv, const Bounds& bounds,
                                  const std::string& input, const std::vector<std::string>& environment) {
    if (argv.empty()) return refuse(ErrorCode::usage, "an empty command", "name a program");
    Pipe out, err;
    if (out.read_end < 0 || err.read_end < 0)
        return refuse(ErrorCode::io, "no pipe: " + std::string(strerror(errno)));
    std::vector<std::string> arguments = argv, variables = with_ours(environment);
    pid_t child = 0;
    const SpawnSettings settings(input, out.write_end, err.write_end);
    const int failed = posix_spawnp(&child, argv[0].c_str(), &settings.actions, &settings.attributes,
                                    pointers(arguments).data(), pointers(variables).data());
    if (failed != 0) {
        return refuse(ErrorCode::environment, fmt::format("cannot start '{}': {}", argv[0], strerror(failed)),
                      "give the path of a program that may be executed");
    }
    out.close_write();
    err.close_write();
    BoundedAnswer answer;
    Watch(child, bounds, answer).read_all(out.read_end, err.read_end);
    return answer;
}

std::string_view trimmed(std::string_view line) {
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return {};
    return line.substr(begin, line.find_last_not_of(" \t\r") - begin + 1);
}

Memo::Key Memo::key_of(const std::vector<emitters::EmittedFile>& files) {
    XXH3_state_t* state = XXH3_createState();
    XXH3_128bits_reset(state);
    const auto take = [&](const std::string& text) {
        const std::uint64_t length = text.size();
        XXH3_128bits_update(state, &length, sizeof length);
        XXH3_128bits_update(state, text.data(), text.size());
    };
    for (const emitters::EmittedFile& file : files) take(file.name), take(file.bytes);
    const XXH128_hash_t hash = XXH3_128bits_digest(state);
    XXH3_freeState(state);
    return {hash.high64, hash.low64};
}

Memo::Answer Memo::ask(const std::vector<emitters::EmittedFile>& files, const std::function<Answer()>& tool) {
    const Key key = key_of(files);
    {
        const std::lock_guard lock(inside_->mutex);
        const auto known = inside_->answers.find(key);
        if (known != inside_->answers.end()) return known->second;
    }
    Answer answer = tool();
    if (answer && answer->ending == Ending::by_itself) {
        const std::lock_guard lock(inside_->mutex);
        inside_->answers.emplace(key, *answer);
    }
    return answer;
}

}  // namespace deadrank::results::external
