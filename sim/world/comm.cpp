// sim/world/comm.cpp — What a backend without byte payloads answers.
#include "sim/world/comm.h"

#include "sim/world/failure.h"

namespace deadrank::sim {

void Comm::refuse_bytes() {
    throw RankFailure("RuntimeError: this backend moves numbers only, not the memory of a real program");
}

}  // namespace deadrank::sim
