// results/emitters/pickle.h — A JSON tree as a pickle of protocol 2, in the few opcodes that torch itself
// writes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace deadrank::results::emitters {

// Arrays of two below the key "process_group" become tuples, all others lists. Text must be UTF-8.
std::string to_pickle(const nlohmann::ordered_json& tree);

}  // namespace deadrank::results::emitters
