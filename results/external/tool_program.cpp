// results/external/tool_program.cpp — Other projects' programs: finds them and their releases, starts them,
// and reads their output to its end. Loopback and pipes only.
#include "results/external/tool_program.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <string_view>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "results/external/bounded.h"
#include "scenarios/model/text.h"

namespace deadrank::results::external {

// mkdtemp makes it accessible to this user alone.
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

// ── Metadata is read without importing the package: torch alone takes seconds.

namespace {

namespace fs = std::filesystem;

fs::path cache() {
    if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
        return fs::path(cache) / "deadrank";
    const char* home = std::getenv("HOME");
    return fs::path(home ? home : "/") / ".cache" / "deadrank";
}

}  // namespace

fs::path tools_home() {
    if (const char* stated = std::getenv("DEADRANK_TOOLS"); stated && *stated) return stated;
    return cache() / "tools";
}

std::string torch_python() {
    if (const char* stated = std::getenv("DEADRANK_PYTHON"); stated && *stated) return find_program(stated);
    return find_program((cache() / "venv" / "bin" / "python").string());
}

std::string tools_python() { return find_program((tools_home() / "bin" / "python").string()); }

std::string package_version(const std::string& python, const std::string& package) {
    if (python.empty()) return {};
    Bounds patient;  // a tool is not absent because the machine is busy
    patient.time = std::chrono::minutes(5);
    const auto answer = run_bounded({python, "-c",
                                     "import importlib.metadata as m, sys\n"
                                     "try: print(m.version(sys.argv[1]))\n"
                                     "except m.PackageNotFoundError: pass",
                                     package},
                                    patient);
    if (!answer || !answer->well()) return {};
    return answer->out.substr(0, answer->out.find_last_not_of(" \r\n") + 1);
}

}  // namespace deadrank::results::external

extern char** environ;

namespace deadrank::results::external {

// ── posix_spawn, two pipes read together, wait4 for the CPU time.

namespace {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

void read_both(int out, int err, ProgramAnswer& answer, pid_t child, const std::function<bool()>& stopped) {
    constexpr int between = 200;  // milliseconds from one question whether to stop to the next
    std::array<pollfd, 2> watched = {{{out, POLLIN, 0}, {err, POLLIN, 0}}};
    std::array<char, 65536> buffer;
    int open = 2;
    while (open > 0) {
        if (stopped && stopped()) {  // its pipes may be held open by children of its own
            kill(child, SIGKILL);
            return;
        }
        if (poll(watched.data(), watched.size(), stopped ? between : -1) < 0) {
            if (errno != EINTR) return;
            continue;
        }
        for (std::size_t i = 0; i < watched.size(); ++i) {
            if (watched[i].fd < 0 || watched[i].revents == 0) continue;
            const ssize_t got = ::read(watched[i].fd, buffer.data(), buffer.size());
            if (got > 0) {
                (i == 0 ? answer.out : answer.err).append(buffer.data(), static_cast<std::size_t>(got));
            } else if (got == 0 || errno != EINTR) {
                watched[i].fd = -1;
                --open;
            }
        }
    }
}

// When a name occurs twice, some programs take the first and the loader the last.
bool said_anew(std::string_view entry, const std::vector<std::string>& environment) {
    const std::string_view name = entry.substr(0, entry.find('=') + 1);
    return std::any_of(environment.begin(), environment.end(),
                       [&](const std::string& line) { return line.starts_with(name); });
}

double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

Result<ProgramAnswer> run_program(const std::vector<std::string>& argv,
                                  const std::vector<std::string>& environment,
                                  const std::function<bool()>& stopped) {
    Pipe out, err;
    if (out.read_end < 0 || err.read_end < 0)
        return refuse(ErrorCode::io, "no pipe: " + std::string(strerror(errno)));
    std::vector<std::string> arguments = argv, variables = environment;
    for (char** one = environ; *one != nullptr; ++one) {
        if (!said_anew(*one, environment)) variables.emplace_back(*one);
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out.write_end, 1);
    posix_spawn_file_actions_adddup2(&actions, err.write_end, 2);
    pid_t child = 0;
    const int failed = posix_spawnp(&child, argv[0].c_str(), &actions, nullptr, pointers(arguments).data(),
                                    pointers(variables).data());
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) {
        return refuse(ErrorCode::environment,
                      "cannot start '" + argv[0] + "': " + std::string(strerror(failed)));
    }
    out.close_write();
    err.close_write();
    ProgramAnswer answer;
    read_both(out.read_end, err.read_end, answer, child, stopped);
    int status = 0;
    rusage usage{};
    while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
    }
    answer.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    answer.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    return answer;
}

std::string find_program(const std::string& name) {
    const auto executable = [](const std::string& path) {
        return std::filesystem::is_regular_file(path) && access(path.c_str(), X_OK) == 0;
    };
    if (name.find('/') != std::string::npos) return executable(name) ? name : "";
    const char* path = std::getenv("PATH");
    for (const std::string_view directory :
         scenarios::parts_of(path != nullptr ? path : "/usr/bin:/bin", ':')) {
        const std::string candidate = std::string(directory) + "/" + name;
        if (executable(candidate)) return candidate;
    }
    return {};
}

}  // namespace deadrank::results::external
