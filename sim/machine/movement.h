// sim/machine/movement.h — How far something has come on its way, while its pace may change.
#pragma once

#include <cstdint>

#include "sim/engine/engine.h"

namespace deadrank::sim {

// What is done is kept as parts per billion of the whole.
struct Movement {
    bool under_way = false;
    std::int64_t done_ppb = 0;
    Time since{0};
    Time whole{0};  // the time it takes at the present pace; never = it stands still
    TimerId timer;

    Time advance(Time now, Time new_whole);  // what is left at the new pace, or never
};

}  // namespace deadrank::sim
