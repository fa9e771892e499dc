// runners/backends/ranks/trail.h — A file of events as they happen, a JSON line each, as
// runners/backends/process/event_reader.cpp reads them. A line is whole on disk before the rank goes on,
// whatever ends it then.
#pragma once

#include <filesystem>
#include <string>

#include "results/record/event.h"
#include "results/record/evidence.h"
#include "runners/backends/ranks/job_clock.h"

namespace deadrank::runners {

class Trail {
public:
    // Time counts from begin() on, unless the clock is known.
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
