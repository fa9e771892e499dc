// results/facts/values.h — Logged quantities that are not what they should be: value.sample with an
// expectation.
#pragma once

#include <string_view>
#include <vector>

#include "results/record/evidence.h"

namespace deadrank::results::detectors {

enum class Origin { definition, reference, resumed };

struct WrongValue {
    const Event* event = nullptr;  // a value.sample
    std::string_view name;
    Origin origin = Origin::definition;
};

// In order of time. By its name a value is compared with a reference run ("reference.…") or with the job's
// own definition; after a restore it tells of the restore. "weights…" are the matter of loading_failure,
// "step_time" of low_throughput.
std::vector<WrongValue> wrong_values(const Evidence& evidence);

}  // namespace deadrank::results::detectors
