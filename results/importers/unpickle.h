// results/importers/unpickle.h — A pickle read as data: containers, numbers and texts, and nothing else.
// Whatever would call or import something is refused, so a stranger's file cannot do anything.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "scenarios/model/error.h"

namespace deadrank::results::importers {

// Tuples and lists become arrays, keys become texts. Errors: bad_input, with the byte and the opcode.
scenarios::Result<nlohmann::ordered_json> from_pickle(std::string_view bytes);

bool looks_like_pickle(std::string_view bytes);

}  // namespace deadrank::results::importers
