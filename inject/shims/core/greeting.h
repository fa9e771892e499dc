// inject/shims/core/greeting.h — The first line of a rank's evidence: who it is, with what it runs, and what
// its environment says.
#pragma once

#include <string>

#include "inject/shims/core/session.h"

namespace deadrank::inject::shims {

// Not where another watcher of this rank has begun the file and said so. `versions`: "nccl=2.28.9";
// `local_rank`: the variable with this rank's number on its node.
void greet_rank(RankSession& rank, const std::string& versions, const char* local_rank);

std::string members_text(int ranks);  // "0-3": all of them

}  // namespace deadrank::inject::shims
