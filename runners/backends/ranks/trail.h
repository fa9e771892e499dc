// runners/backends/ranks/trail.h — A file of events as they happen, one JSON line each, as
// runners/backends/process/event_reader.cpp reads them. A line is written whole before the rank goes on,
// whatever ends it then.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

#include "results/record/event.h"
#include "results/record/evidence.h"
#include "results/record/time.h"

namespace deadrank::runners {

// The job's time: real time since its start, stretched. A real second is twenty seconds of the job, so that a
// minute of silence, which detectors call a hang, takes three seconds.
struct JobClock {
    static constexpr std::int64_t stretch = 20;

    std::int64_t origin = 0;  // nanoseconds since the epoch

    static std::int64_t real_now() {
        return std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
    }
    results::Time at(std::int64_t real) const {
        return results::Time(real > origin ? (real - origin) * stretch : 0);
    }
    results::Time now() const { return at(real_now()); }
    static std::chrono::nanoseconds real(results::Time job) {
        return std::chrono::nanoseconds(job.count() / stretch);
    }
};

class Trail {
public:
    // Time counts from begin() on, unless a clock is given.
    Trail(const std::filesystem::path& file, results::Rank rank, JobClock clock = {});
    ~Trail();
    Trail(const Trail&) = delete;
    Trail& operator=(const Trail&) = delete;

    void begin(JobClock clock) { clock_ = clock; }
    void record(const results::Payload& what);
    results::TextId text(std::string_view words) { return texts_.keep(words); }
    void log(int level, std::string_view line) { record(results::RankLog{level, text(line)}); }
    void line(const std::string& json);
    const JobClock& clock() const { return clock_; }

private:
    int descriptor_;
    JobClock clock_;
    results::Rank rank_;
    results::Texts texts_;
};

}  // namespace deadrank::runners
