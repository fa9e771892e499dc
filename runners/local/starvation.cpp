// runners/local/starvation.cpp — The second number of /proc/PID/task/TID/schedstat: nanoseconds spent on a
// run queue. A kernel that does not count has no such file, and then nothing ever waited.
#include "runners/local/starvation.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

namespace deadrank::runners {

using results::Time;

void Starvation::look(const std::set<int>& pids, Time at) {
    std::error_code ignored;
    for (const int pid : pids) {
        for (const auto& task :
             std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), ignored)) {
            std::ifstream file(task.path() / "schedstat");
            std::int64_t ran = 0, waited = 0;
            if (!(file >> ran >> waited)) continue;
            Time& before = of_thread_[std::atoi(task.path().filename().c_str())];
            sum_ += std::max(Time(0), Time(waited) - before);
            before = Time(waited);
        }
    }
    waiting_[at] = sum_;
}

}  // namespace deadrank::runners
