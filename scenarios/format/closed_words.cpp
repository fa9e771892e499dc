// scenarios/format/closed_words.cpp — The closed lists of words of a scenario that no other folder owns.
#include "scenarios/format/scenario_tables.h"

namespace deadrank::scenarios {

std::vector<std::string> names_of(const std::vector<Kind>& kinds) {
    std::vector<std::string> names;
    for (const Kind& kind : kinds) names.push_back(kind.name);
    return names;
}

const std::vector<std::string>& call_words() {
    static const std::vector<std::string> words = {
        "all_reduce", "broadcast",       "reduce",          "all_gather", "reduce_scatter", "all_to_all",
        "gather",     "scatter",         "barrier",         "send",       "recv",           "collective",
        "message",    "communication",   "comm_init",       "rendezvous", "store_set",      "store_get",
        "store_add",  "checkpoint_save", "checkpoint_load", "compute",    "allocate",       "step",
        "phase"};
    return words;
}

}  // namespace deadrank::scenarios
