// runners/backends/process/job_processes.cpp — Starts, finds and ends the processes of a job, and measures
// how long they waited for a processor.
#include "runners/backends/process/job_processes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "scenarios/model/document.h"
#include "scenarios/model/text.h"

namespace deadrank::runners {

// ── Processes start by posix_spawn in a new session; /proc shows what a job left behind.

namespace {

std::vector<char*> pointers(const std::vector<std::string>& words) {
    std::vector<char*> list;
    for (const std::string& word : words)
        list.push_back(const_cast<char*>(word.c_str()));  // posix_spawn does not write there
    list.push_back(nullptr);
    return list;
}

// Searches the child's PATH, not ours: `torchrun` must belong to the child's Python.
std::string found_on_path(const std::string& program, const std::vector<std::string>& environment) {
    if (program.find('/') != std::string::npos) return program;
    for (const std::string& entry : environment) {
        if (!entry.starts_with("PATH=")) continue;
        for (const std::string_view directory : scenarios::parts_of(std::string_view(entry).substr(5), ':')) {
            const std::string file = std::string(directory) + "/" + program;
            if (access(file.c_str(), X_OK) == 0) return file;
        }
    }
    return program;
}

class Pipe {
public:
    Pipe() { opened_ = pipe2(ends_.data(), O_CLOEXEC) == 0; }
    ~Pipe() {
        for (const int end : ends_) {
            if (end >= 0) close(end);
        }
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    bool opened() const { return opened_; }
    int write_end() const { return ends_[1]; }
    int take_read_end() { return std::exchange(ends_[0], -1); }

private:
    std::array<int, 2> ends_{-1, -1};
    bool opened_ = false;
};

std::vector<int> all_processes() {
    std::vector<int> found;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
        const std::string name = entry.path().filename().string();
        if (name.find_first_not_of("0123456789") == std::string::npos)
            found.push_back(std::atoi(name.c_str()));
    }
    return found;
}

int parent_of(int pid) {
    const std::string text = process_text(pid, "stat");
    const std::size_t end_of_name = text.rfind(')');
    return end_of_name == std::string::npos ? -1 : std::atoi(text.c_str() + end_of_name + 4);
}

std::vector<int> marked_processes(const std::string& mark) {
    std::vector<int> found;
    for (const int pid : all_processes()) {
        const std::string environment = process_text(pid, "environ");
        const std::size_t at = environment.find(mark);
        const bool begins = at != std::string::npos && (at == 0 || environment[at - 1] == '\0');
        const bool ends =
            begins && (at + mark.size() == environment.size() || environment[at + mark.size()] == '\0');
        if (ends && pid != getpid()) found.push_back(pid);
    }
    return found;
}

}  // namespace

scenarios::Result<Started> start(const std::vector<std::string>& command,
                                 const std::vector<std::string>& environment) {
    Pipe output, errors;
    if (!output.opened() || !errors.opened()) {
        return scenarios::refuse(scenarios::ErrorCode::io,
                                 fmt::format("no pipe could be opened: {}", std::strerror(errno)),
                                 "raise the limit on open files");
    }
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, output.write_end(), 1);
    posix_spawn_file_actions_adddup2(&files, errors.write_end(), 2);
    // A proxy socket that a child inherited would stay open when we close it.
    posix_spawn_file_actions_addclosefrom_np(&files, 3);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    sigset_t defaults;
    sigemptyset(&defaults);
    for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGHUP}) sigaddset(&defaults, signal);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    Started started;
    const std::string program = found_on_path(command.front(), environment);
    const int failed = posix_spawn(&started.pid, program.c_str(), &files, &attributes,
                                   pointers(command).data(), pointers(environment).data());
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (failed) {
        return scenarios::refuse(
            scenarios::ErrorCode::environment,
            fmt::format("'{}' could not be started: {}", command.front(), std::strerror(failed)),
            "name a program that exists and may be executed");
    }
    started.output = output.take_read_end();
    started.errors = errors.take_read_end();
    return started;
}

namespace {

bool lives(int pid) {
    const char state = state_of(pid);
    return state != 'Z' && state != 'X';
}

}  // namespace

bool any_marked(const std::string& mark) {
    const auto all = marked_processes(mark);
    return std::any_of(all.begin(), all.end(), lives);
}

int end_all_marked(const std::string& mark) {
    int most = 0;
    for (int look = 0; look < 100; ++look) {
        int alive = 0;
        for (const int pid : marked_processes(mark)) {
            if (!lives(pid)) continue;
            ++alive;
            kill(pid, SIGKILL);  // ends stopped processes too
            kill(pid, SIGCONT);
        }
        most = std::max(most, alive);
        if (alive == 0) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return most;
}

void adopt_orphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

// Our own children share our session or carry a mark; an orphan comes from a session that we started for a
// job.
bool is_orphan(int pid) {
    return parent_of(pid) == getpid() && getsid(pid) != getsid(0) &&
           process_text(pid, "environ").find("DEADRANK_EVIDENCE=") == std::string::npos;
}

int end_orphans() {
    int ended = 0;
    for (int look = 0; look < 100; ++look) {
        int alive = 0;
        for (const int pid : all_processes()) {
            if (!is_orphan(pid)) continue;
            if (state_of(pid) != 'Z') {
                ++alive;
                kill(pid, SIGKILL);
                kill(pid, SIGCONT);
            }
            if (waitpid(pid, nullptr, WNOHANG) == pid) ++ended;
        }
        if (alive == 0) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return ended;
}

std::string process_text(int pid, std::string_view file) {
    return scenarios::read_text(fmt::format("/proc/{}/{}", pid, file)).value_or("");
}

char state_of(int pid) {
    const std::string text = process_text(pid, "stat");
    const std::size_t end_of_name = text.rfind(')');
    return end_of_name != std::string::npos && end_of_name + 2 < text.size() ? text[end_of_name + 2] : 'X';
}

// ── The second number of /proc/PID/task/TID/schedstat: nanoseconds spent on a run queue. A kernel without
// these counters has no such file; then no waiting is recorded.

using results::Time;

// Not the sum: gloo has one thread per group that wakes a hundred times a second and finds nothing; fifty of
// these wait a little each time without delaying the job.
Time Starvation::longest_in(int pid) {
    Time longest{0};
    std::error_code ignored;
    for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), ignored)) {
        std::ifstream file(task.path() / "schedstat");
        std::int64_t ran = 0, waited = 0;
        if (!(file >> ran >> waited)) continue;
        Time& before = of_thread_[std::atoi(task.path().filename().c_str())];
        longest = std::max(longest, Time(waited) - before);
        before = Time(waited);
    }
    return longest;
}

void Starvation::look(const std::set<int>& pids, Time at) {
    Time of_all{0};
    for (const int pid : pids) of_all += longest_in(pid);
    sum_ += std::min(of_all, at - looked_);
    looked_ = at;
    waiting_[at] = sum_;
}

}  // namespace deadrank::runners
