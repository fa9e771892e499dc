// inject/shims/core/faults.h — The plan's faults of one rank, waiting for their moments inside a real
// program. Counting is as everywhere: "the third all_reduce" is this rank's own third, on the named
// communicator or on any.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "inject/core/moment.h"
#include "inject/shims/core/line_file.h"
#include "inject/shims/core/plan.h"

namespace deadrank::inject::shims {

// What the call at hand has to suffer. Levers that hit the whole process were pulled before this is answered.
struct Decision {
    bool any = false;
    std::int64_t fault = 0;  // of the last entry that acted
    Alteration alteration;
    std::int64_t bytes_per_second = 0;
};

class Faults {
public:
    // `started`: nanoseconds since 1970 at which the job began.
    Faults(const ShimPlan& plan, Rank rank, LineFile& truth, std::int64_t started);

    bool none() const { return armed_.empty(); }

    // Pulls what belongs to the start and watches the clock for what has a time and no place.
    void begin();

    Decision at(std::string_view call, std::string_view comm = {});

    // In words of NCCL's ncclGetVersion, 22809; 0 unless a fault gave this rank another version.
    int version() const { return version_.load(std::memory_order_relaxed); }

    // The call cannot be altered so. Goes to the truth: the run is then unknown, never passed.
    void refuse(std::int64_t fault, std::string_view sentence);

private:
    struct Armed {
        Entry entry;
        std::int64_t seen = 0, fired = 0;
        std::int64_t since = 0;  // when it acted first
    };

    bool matches(Armed& armed, const Moment& moment);
    void pull(Armed& armed, std::string_view call, Decision* decision);

    const Rank rank_;
    const std::int64_t started_;
    LineFile& truth_;
    std::mutex guard_;
    std::vector<Armed> armed_;
    std::atomic<int> version_{0};
};

// "2.18.3" as NCCL counts: 21803; 0 when it is no version.
int version_number(std::string_view text);

}  // namespace deadrank::inject::shims
