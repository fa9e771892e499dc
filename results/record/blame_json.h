// results/record/blame_json.h — Blame as every file of ours writes it: only the fields that are set.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "results/record/blame.h"

namespace deadrank::results {

nlohmann::ordered_json blame_json(const Blame& blame);

// Throws nlohmann's exceptions on a wrong type; the reader of the file turns them into an Error.
Blame blame_from(const nlohmann::ordered_json& json);

}  // namespace deadrank::results
