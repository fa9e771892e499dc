// tests/sim/stackless_ring.h — The ring again, by ranks that keep their place in two numbers instead of a
// stack.
#pragma once

#include <vector>

#include "sim/engine/engine.h"
#include "tests/sim/ring.h"

namespace deadrank::sim::rig {

class StacklessRing final : public StacklessActor {
public:
    StacklessRing(Engine& engine, Ring& ring, std::uint32_t ranks)
        : engine_(engine), ring_(ring), at_(ranks) {}

    void spawn() {
        for (ActorId rank = 0; rank < at_.size(); ++rank) engine_.spawn(rank, *this);
    }

    void woken(ActorId self) override {
        DevicePlace& place = at_[self];
        if (!place.started) {
            place = {true, 0};
            ring_.send(self, self);
        }
        while (ring_.has_mail(self)) {
            const std::uint64_t value = ring_.take(self);
            if (++place.round == ring_.rounds()) return engine_.finish(self);
            ring_.send(self, value + place.round);
        }
        engine_.await(self, {.what = "message"});
    }

private:
    struct DevicePlace {
        bool started = false;
        std::uint64_t round = 0;
    };

    Engine& engine_;
    Ring& ring_;
    std::vector<DevicePlace> at_;
};

}  // namespace deadrank::sim::rig
