// sim/collectives/comm_held.h — A collective that was held back to be exchanged with the next one: the call,
// and a copy of its data.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "sim/collectives/comm_sim.h"

namespace deadrank::sim {

struct SimComm::Held {
    explicit Held(const Offer& call)
        : offer(call), copy(std::make_unique<std::vector<Number>>(call.in, call.in + call.in_size)) {
        offer.in = copy->data();
        offer.out = nullptr;
        offer.waiting = false;
    }

    Offer offer;
    std::unique_ptr<std::vector<Number>> copy;
};

}  // namespace deadrank::sim
