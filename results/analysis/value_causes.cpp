// results/analysis/value_causes.cpp — Which causes a wrong number speaks for.
#include "results/analysis/value_causes.h"

#include <algorithm>
#include <cmath>

#include "results/record/words.h"

namespace deadrank::results::analysis {

namespace {

constexpr double nearly = 0.01;  // rounded logs, and sums in another order

}  // namespace

std::optional<std::int64_t> size_between(double value, double expected,
                                         const std::vector<std::int64_t>& sizes) {
    if (value == 0 || expected == 0 || !std::isfinite(value) || !std::isfinite(expected)) return std::nullopt;
    const double ratio = std::max(value / expected, expected / value);
    const auto found = std::find_if(sizes.begin(), sizes.end(), [&](std::int64_t size) {
        const auto times = static_cast<double>(size);
        return size > 1 && std::abs(ratio - times) <= nearly * times;
    });
    return found == sizes.end() ? std::nullopt : std::optional(*found);
}

std::vector<std::string> list_value_causes(std::string_view name, bool by_a_groups_size) {
    const std::string called = lowered(name);
    const bool counts = has_any(called, {"count", "sample", "token", "number", "num_", "items", "batches",
                                         "length", "files", "indices", "members", "size", "rows"});
    const bool drawn = has_any(called, {"seed", "random", "noise", "dropout", "rng"});
    if (by_a_groups_size)
        return {"gradient_scaling_or_reduction_error",
                counts ? "uneven_work_or_data_partition" : "stream_or_buffer_race",
                "stale_or_missing_state_update"};
    if (drawn) return {"rng_or_seed_coordination_error", "stale_or_missing_state_update"};
    if (counts)
        return {"uneven_work_or_data_partition", "rank_or_device_derivation_error",
                "gradient_scaling_or_reduction_error"};
    if (has_any(called, {"grad", "norm"}))
        return {"gradient_scaling_or_reduction_error", "stale_or_missing_state_update",
                "stream_or_buffer_race"};
    return {"stale_or_missing_state_update", "gradient_scaling_or_reduction_error", "stream_or_buffer_race"};
}

}  // namespace deadrank::results::analysis
