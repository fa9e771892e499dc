// results/detectors/shared.h — Detectors that other code asks: versions and variables are reasons, reported
// only with a breakage; the diagnosis looks at shards and samples again.
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

// What broke in a job's communication: the first finding of set-up failure, set-up hang, mismatch, time-out
// and hang, asked in this order.
std::optional<Finding> communication_breakage(const Evidence& evidence);

// The job failed, the first ranks to end had an error code of their own, and nobody had said anything that is
// known to tell of trouble. detect() asks for it only where no other detector explains the end.
std::optional<Finding> unexplained_end(const Evidence& evidence);

// These ranks, which are on one device, and all others of their host that had taken it by then, as far as
// that is known.
std::vector<Rank> find_ranks_on_device_of(const Evidence& evidence, int attempt,
                                          const std::vector<Rank>& ranks, Time until);

// Those of these ranks that had taken another device by then than their LOCAL_RANK says, or their place on
// the host where it is not set or several have the same. Empty where the device of one is not known, or where
// CUDA_VISIBLE_DEVICES numbers the devices anew.
std::vector<Rank> find_ranks_off_local_device(const Evidence& evidence, int attempt,
                                              const std::vector<Rank>& ranks, Time until);

// The limits beyond which a detector reports, to be shown to readers. Each is taken from its constant, at the
// end of the detector's file.
struct Threshold {
    std::string_view what;
    std::int64_t number;
    std::string_view unit = {};  // "‰", "s"; empty: a count
};
using Thresholds = std::vector<Threshold>;

// The limits of this detector; what counts as a hang is defined for all detectors in `Lives`.
const Thresholds& thresholds_of(std::string_view detector);

}  // namespace deadrank::results::detectors
