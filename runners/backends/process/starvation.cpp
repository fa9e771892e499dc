// runners/backends/process/starvation.cpp — The second number of /proc/PID/task/TID/schedstat: nanoseconds
// spent on a run queue. A kernel that does not count has no such file, and then nothing ever waited.
#include "runners/backends/process/starvation.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

namespace deadrank::runners {

using results::Time;

// Not the sum: gloo has a thread for each group that wakes a hundred times a second to find nothing, and
// fifty of these wait a little each time without holding up anybody.
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
