// runners/backends/process/launch.h — Starts the job's processes and watches them: output, exits, limits.
// Whatever happens, nothing that it started is left running.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "results/record/subject.h"
#include "scenarios/model/error.h"

namespace deadrank::runners {

using Nanoseconds = std::int64_t;  // since the epoch, as the hook writes them

struct ChildSpec {
    results::Rank rank = results::no_rank;  // no_rank: a launcher that starts the ranks itself
    std::vector<std::string> command;
    std::vector<std::string> environment;  // "NAME=value", whole
};

struct LaunchSpec {
    std::vector<ChildSpec> children;
    std::filesystem::path directory;  // evidence/ and logs/ below it are followed
    results::Time start{0};           // until the first sign of life; 0 = same as `quiet`
    results::Time quiet{0};           // that long without a sign of life: stuck
    results::Time limit{0};           // of the whole run
    std::filesystem::path temporary;  // the job's TMPDIR, if that lies elsewhere
    std::int64_t disk = 0;            // bytes below both; 0 = unbounded
    std::int64_t largest_file = 0;    // bytes in any file; 0 = unbounded
    std::atomic<bool>* stop = nullptr;
};

struct Line {
    Nanoseconds at = 0;
    results::Rank rank = results::no_rank;
    bool error = false;  // of stderr
    std::string text;
};

struct Gone {
    Nanoseconds at = 0;
    int code = -1;  // -1: unknown, since it is not our child
    int signal = 0;
};

enum class LaunchEnd { ended, silent, stuck, over_limit, over_disk, stopped };

struct Launched {
    Nanoseconds started = 0, ended = 0;
    LaunchEnd end = LaunchEnd::ended;
    std::vector<Line> lines;   // in order of arrival
    std::map<int, Gone> gone;  // by pid: when it was seen to be gone
    std::map<int, char> left;  // by pid: state letter of ranks that were alive at the end ('T' = stopped)
    std::map<int, results::Rank> ranks;  // by pid
    std::size_t lines_dropped = 0;       // beyond the limit on lines that are kept
    int left_behind = 0;                 // processes that outlived the command that had started them
    results::Waiting waiting;            // for a processor, by the time since the start
    Nanoseconds silence = 0;             // how long there had been no sign of life at the end
    Nanoseconds late = 0;                // how far this machine let our own clock fall behind, at worst
    Gone launcher;                       // how the job ended: the first child that failed, else the last one
};

// Errors: environment (a program that cannot be started), io.
scenarios::Result<Launched> launch(const LaunchSpec& spec);

Nanoseconds now();
Nanoseconds written_at(const std::filesystem::path& file);  // last written; now if it is gone

}  // namespace deadrank::runners
