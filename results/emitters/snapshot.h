// results/emitters/snapshot.h — The moment at which somebody would look: dumps and RAS answers are taken
// then. It is worked out from evidence alone, so that no tool is told when the fault was.
#pragma once

#include "results/record/evidence.h"

namespace deadrank::results::emitters {

enum class Occasion {
    watchdog,  // a watchdog ended its process, and dumped before
    silence,   // nobody made progress for a minute, and an operator looks
    ended,     // the job came to its end
    watched,   // neither: the end of observation
};

struct Snapshot {
    Time at{0};
    Occasion occasion = Occasion::watched;
};

inline constexpr Time patience{60'000'000'000};  // an operator's, until she looks at a silent job

Snapshot snapshot_of(const Evidence& evidence);

// When somebody who asks again and again, as pollers of RAS do, first sees a minute without progress while
// the job still runs; the snapshot's moment when that never was.
Time first_silence(const Evidence& evidence);

}  // namespace deadrank::results::emitters
