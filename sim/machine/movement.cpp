// sim/machine/movement.cpp — Shares in integers, so that an undisturbed way takes exactly its whole.
#include "sim/machine/movement.h"

#include <algorithm>

#include "sim/machine/link_history.h"

namespace deadrank::sim {

Time Movement::advance(Time now, Time new_whole) {
    __extension__ typedef __int128 Wide;
    if (under_way && whole != results::never && whole > Time{0}) {
        const auto moved = static_cast<std::int64_t>(Wide{(now - since).count()} * billion / whole.count());
        done_ppb = std::min(billion, done_ppb + moved);
    }
    under_way = true;
    since = now;
    whole = new_whole;
    if (new_whole == results::never) return results::never;
    return Time(static_cast<std::int64_t>(Wide{new_whole.count()} * (billion - done_ppb) / billion));
}

}  // namespace deadrank::sim
