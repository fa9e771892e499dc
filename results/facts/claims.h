// results/facts/claims.h — Which rank each process says to be when it comes to the rendezvous, and whose
// claim no world can grant.
#pragma once

#include <string>
#include <vector>

#include "results/record/evidence.h"

namespace deadrank::results::detectors {

struct Claim {
    Rank process;
    Rank rank;
    Time at;
};

std::vector<Claim> claims_of(const Evidence& evidence, int attempt);

// Claims below 0 or beyond the world's end, where the set-up of one such process failed, and then all others
// that are not the process's own number: one wrong formula moves some within the world and some out of it.
// Empty: there is none, or set-up went on.
std::vector<Claim> refused_claims(const Evidence& evidence, int attempt);

// Whether the process was started with this number in the variable RANK.
bool started_as(const Evidence& evidence, const Claim& claim);

}  // namespace deadrank::results::detectors
