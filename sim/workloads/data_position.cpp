// sim/workloads/data_position.cpp — Where a job is in its data, which is a number of samples where it goes on
// with another number of ranks; and what its hosts do for a step's samples before a device has them.
#include <algorithm>
#include <charconv>

#include "sim/workloads/job.h"

namespace deadrank::sim {

void Job::go_on_at(std::int64_t step, std::int64_t samples) {
    first_step_ = counted_from_ = step;
    counted_ = samples;
}

// In batches of all replicas, as samplers count. A batch that has begun is passed over.
std::int64_t Job::position_of(std::int64_t step, Rank replicas) const {
    const std::int64_t each = std::max<std::int64_t>(1, settings_.batch * replicas);
    return (counted_ + each - 1) / each + step - counted_from_;
}

std::int64_t Job::samples_by(std::int64_t step) const {
    return counted_ + (step + 1 - counted_from_) * settings_.batch * size_;
}

// Threads that a launcher or a container took away, and lanes that a slot lacks, make one rank late for all.
void Job::prepare_on_host() {
    constexpr std::int64_t all_lanes = 16;
    if (settings_.host_work > Time{0}) {
        std::int64_t threads = 1;
        if (const auto said = world_.env().get("OMP_NUM_THREADS"))
            std::from_chars(said->data(), said->data() + said->size(), threads);
        threads = std::max<std::int64_t>(1, world_.seam("host.threads", threads));
        world_.timer().sleep(settings_.host_work / threads);
    }
    if (settings_.copy_time > Time{0}) {
        const std::int64_t lanes =
            std::clamp<std::int64_t>(world_.seam("copy.lanes", all_lanes), 1, all_lanes);
        world_.timer().sleep(settings_.copy_time * all_lanes / lanes);
    }
}

}  // namespace deadrank::sim
