// results/record/blame.h — Who or what is at fault. Findings and the truth both state it; the judge compares
// field by field.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "results/record/time.h"

namespace deadrank::results {

struct Blame {
    std::vector<Rank> ranks = {};           // ascending
    std::vector<std::int32_t> nodes = {};   // ascending
    std::optional<std::int64_t> step = {};  // training step
    std::string variable = {};              // environment variable or setting, as written
    std::string component = {};   // package, device part, or link: "nccl", "gpu", "link 0-1", "storage"
    std::string collective = {};  // "all_reduce", "send", …
    std::string shard = {};       // checkpoint file or tensor name

    bool operator==(const Blame&) const = default;
    std::string text() const;  // "rank 3, step 7"
};

// Blame as all our files write it: only the fields that are set.
nlohmann::ordered_json blame_json(const Blame& blame);

// Throws nlohmann's exceptions on a wrong type; the reader of the file turns them into an Error.
Blame blame_from(const nlohmann::ordered_json& json);

}  // namespace deadrank::results
