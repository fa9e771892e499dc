// results/facts/setup_words.h — Whether what a process said before it had met the others was about meeting
// them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/facts/complaints.h"

namespace deadrank::results::detectors {

// When each process of an attempt left the rendezvous, `never` where it did not; empty if nobody came there.
std::vector<Time> met_at(const Evidence& evidence, int attempt);

// The exception of a process that had not left the rendezvous yet, about a store, an address, a port or a
// variable that set-up needs. An import or an argument that fails there is no failure of communication.
bool failed_to_meet(const Complaint& complaint, const std::vector<Time>& met);

// "KeyError: 'MASTER_ADDR'": the variable of set-up that the words miss; empty if none.
std::string missing_variable(std::string_view words);

}  // namespace deadrank::results::detectors
