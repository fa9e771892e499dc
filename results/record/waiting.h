// results/record/waiting.h — How long a job's processes wanted to run while others had the processor. A job
// that waits for a message wants nothing: its silence is its own on a busy machine as well.
#pragma once

#include <map>

#include "results/record/time.h"

namespace deadrank::results {

// At some moments: the sum of all waiting until then.
using Waiting = std::map<Time, Time>;

// What of it fell between two moments, at most: looks are some time apart.
Time waited_between(const Waiting& waiting, Time begin, Time end);

}  // namespace deadrank::results
