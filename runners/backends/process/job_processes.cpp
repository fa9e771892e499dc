// runners/backends/process/job_processes.cpp — Finds and ends the processes of a job, and measures how long
// they waited for a processor.
#include "runners/backends/process/job_processes.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "scenarios/model/document.h"

namespace deadrank::runners {

namespace {

// /proc shows what a job left behind.
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
