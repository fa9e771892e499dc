// runners/promises/promise_traces.cpp — An incomplete line is read again at the next look.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>
#include <unistd.h>

#include "runners/backends/process/job_processes.h"
#include "runners/promises/promise_verdict.h"

namespace deadrank::runners::promises {

namespace fs = std::filesystem;

std::vector<WorkerEvent> Followed::read() {
    std::vector<WorkerEvent> events;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(directory_, ignored)) {
        std::ifstream file(entry.path(), std::ios::binary);
        std::streamoff& at = read_[entry.path()];
        file.seekg(at);
        for (std::string line; std::getline(file, line) && !file.eof();) {
            at += static_cast<std::streamoff>(line.size()) + 1;
            if (auto event = worker_event(line)) events.push_back(std::move(*event));
        }
    }
    std::sort(events.begin(), events.end(),
              [](const WorkerEvent& a, const WorkerEvent& b) { return a.at < b.at; });
    return events;
}

std::string list_worker_settings(const PromisedFault& fault) {
    auto list = nlohmann::json::array();
    for (const FaultAction& action : fault.actions) {
        if (action.on != Target::worker) continue;
        list.push_back({{"unit", action.number},
                        {"do", scenarios::enum_name(action.does)},
                        {"phase", action.phase},
                        {"step", action.step},
                        {"life", action.life},
                        {"seconds", action.seconds}});
    }
    return list.dump();
}

int files_below(const fs::path& directory) {
    int files = 0;
    std::error_code ignored;
    for (const auto& entry : fs::recursive_directory_iterator(directory, ignored))
        files += entry.is_directory(ignored) ? 0 : 1;
    return files;
}

bool tear_newest(const fs::path& directory) {
    fs::path newest;
    fs::file_time_type when;
    std::error_code ignored;
    for (const auto& entry : fs::recursive_directory_iterator(directory, ignored)) {
        if (!entry.is_regular_file(ignored) || entry.file_size(ignored) < 64) continue;
        if (newest.empty() || entry.last_write_time(ignored) > when) {
            newest = entry.path();
            when = entry.last_write_time(ignored);
        }
    }
    if (newest.empty()) return false;
    fs::resize_file(newest, fs::file_size(newest, ignored) / 2, ignored);
    return !ignored;
}

int left_after_grace(const std::string& mark) {
    int alive = 0;
    for (int look = 0; look < 20; ++look) {
        alive = 0;
        std::error_code ignored;
        for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
            const int pid = std::atoi(entry.path().filename().c_str());
            if (pid <= 0 || pid == getpid()) continue;
            const bool marked = process_text(pid, "environ").find(mark) != std::string::npos;
            const char state = state_of(pid);
            if ((marked || is_orphan(pid)) && state != 'Z' && state != 'X') ++alive;
        }
        if (alive == 0) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(250));
    }
    return alive;
}

}  // namespace deadrank::runners::promises
