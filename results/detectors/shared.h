// results/detectors/shared.h — Detectors that others ask: versions and variables are reasons, and a reason
// without a breakage is no alarm; the diagnosis looks at shards and samples again.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

Findings collective_hang(const Evidence& evidence);
Findings collective_mismatch(const Evidence& evidence);
Findings collective_timeout(const Evidence& evidence);
Findings sample_coverage(const Evidence& evidence);
Findings setup_failure(const Evidence& evidence);
Findings setup_hang(const Evidence& evidence);
Findings shard_mismatch(const Evidence& evidence);

// What broke in the communication of a job: the first finding of the first of these that has one: set-up
// failure, set-up hang, mismatch, time-out, hang.
std::optional<Finding> communication_breakage(const Evidence& evidence);

// The numbers beyond which a detector speaks, for its readers. Each stands beside the constant that it is, at
// the end of its detector's file.
struct Threshold {
    std::string_view what;
    std::int64_t number;
    std::string_view unit = {};  // "‰", "s"; empty: so many
};
using Thresholds = std::vector<Threshold>;

// Those of a detector's own, by its name; what a hang is, `Lives` says for all.
const Thresholds& thresholds_of(std::string_view detector);

}  // namespace deadrank::results::detectors
