// results/facts/samples.h — Which samples a batch holds, and which are read a second time after a restart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/record/evidence.h"

namespace deadrank::results::detectors {

std::vector<std::int64_t> samples_of(const Evidence& evidence, const DataBatch& batch);

struct ReadAgain {
    const Event* event = nullptr;  // the first such batch
    std::vector<Rank> ranks;       // all that read so in its step, ascending
    std::string says;
};

// What was read before the step that an attempt resumed at, and is read again after it in the same epoch.
// Told whatever the number of ranks is: it is the samples that are compared, not who read them.
std::optional<ReadAgain> samples_read_again(const Evidence& evidence);

}  // namespace deadrank::results::detectors
