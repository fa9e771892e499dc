// results/analysis/setup_words.h — What the words of a failed set-up tell: the variable or component that
// they are about, and the causes that they speak for, likeliest first.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "results/record/evidence.h"

namespace deadrank::results::analysis {

// "RANK expected, but not set" → RANK; a port or a name that cannot be had speaks of the variable that
// usually holds it. Empty if no variable is spoken of.
std::string find_setup_variable(std::string_view text);

// Whether the words name the variable itself. If not, the port or the name may have come from elsewhere.
bool names_its_variable(std::string_view text);

// "driver" where its version is refused; else empty.
std::string find_setup_component(std::string_view text);

// The key that a rank waited for at the store in vain, the host at which it sought the store, and how many
// clients it saw there: "wait timeout after 300000ms, keys: /0", "trying to connect to (node1, 29500)",
// "8/12 clients joined". Empty or -1 if the words have none.
std::string_view find_awaited_key(std::string_view text);
std::string_view find_store_host(std::string_view text);
std::int64_t count_joined_clients(std::string_view text);

// NCCL names two: "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000". Empty otherwise.
std::vector<Rank> find_ranks_on_one_device(std::string_view text);

// gloo: refused at "remote=[127.0.1.1]", an address of the rank's own host that a rank of another one gave
// it.
bool refused_by_loopback(std::string_view text);
// The ranks of hosts that no rank was so refused on: theirs is that address. Empty where all hosts were.
std::vector<Rank> find_ranks_never_refused(const Evidence& evidence, int attempt);

// own: the rank failed by itself, and neither waited in vain nor sought a peer.
std::vector<std::string> list_setup_causes(std::string_view text, bool own);

}  // namespace deadrank::results::analysis
