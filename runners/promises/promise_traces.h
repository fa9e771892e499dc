// runners/promises/promise_traces.h — The files and processes of a promised run, as they are read and counted
// from outside, and the two that are written: what workers are told, and a file that is torn.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "runners/promises/promise_file.h"
#include "runners/promises/promise_history.h"

namespace deadrank::runners::promises {

// New whole lines of every file in a directory.
class Followed {
public:
    explicit Followed(std::filesystem::path directory) : directory_(std::move(directory)) {}

    std::vector<WorkerEvent> read();  // by time

private:
    std::filesystem::path directory_;
    std::map<std::filesystem::path, std::streamoff> read_;
};

// The deeds that workers do to themselves, for programs/counted_task.py.
std::string told_to_workers(const PromisedFault& fault);

int files_below(const std::filesystem::path& directory);

// Half of the newest file stays: what a machine that lost its power leaves. False where there was none.
bool tear_newest(const std::filesystem::path& directory);

// Processes with this mark in their environment that still live. Those that are about to end have five
// seconds.
int left_after_grace(const std::string& mark);

}  // namespace deadrank::runners::promises
