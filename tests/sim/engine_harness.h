// tests/sim/engine_harness.h — A test body on a stage of its own, with a fresh simulation.
#pragma once

#include <functional>

#include "sim/engine/engine.h"
#include "sim/engine/stage.h"

namespace deadrank::sim::rig {

inline void play(const std::function<void(Engine&)>& body, const EngineOptions& options = {}) {
    on_stage([&](Engine& engine) {
        engine.reset(options);
        body(engine);
    });
}

}  // namespace deadrank::sim::rig
