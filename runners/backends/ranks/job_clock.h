// runners/backends/ranks/job_clock.h — The job's time: real time since its start, stretched. A second here is
// twenty of the job's, so that a silence of a minute, which is what a detector calls a hang, takes three
// seconds.
#pragma once

#include <chrono>
#include <cstdint>

#include "results/record/time.h"

namespace deadrank::runners {

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

}  // namespace deadrank::runners
