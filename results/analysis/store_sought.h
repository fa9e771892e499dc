// results/analysis/store_sought.h — Where ranks sought the store in vain, which of their variables says so,
// and whether its host has left.
#pragma once

#include <string_view>

#include "results/analysis/complaints.h"

namespace deadrank::results::analysis {

// "while trying to connect to (node1, 29500)": a machine of the job, or none of them.
enum class Sought { unknown, at_rank_0, at_another, at_none };

Sought classify_store_address(const Evidence& evidence, int attempt, std::string_view text);

// The rank was started with this variable, and its value stands in the words. False where it was not.
bool has_value_in_text(const Evidence& evidence, const Complaint& complaint, std::string_view name);

// Whether the process was started with this variable at all.
bool has_variable(const Evidence& evidence, const Complaint& complaint, std::string_view name);

// Who keeps the store, where the words tell that it is gone and that process had ended. The store goes with
// rank 0, unless a launcher keeps it: then nobody loses it. no_rank otherwise.
Rank find_host_of_lost_store(const Evidence& evidence, int attempt, std::string_view text, Time told);

}  // namespace deadrank::results::analysis
