// sim/engine/stage.h — Where simulations are played: a thread of its own, since a scheduling algorithm stays
// until its thread ends. Many simulations run on one stage one after another; to use more cores, open more
// stages over other seeds.
#pragma once

#include <functional>

namespace deadrank::sim {

class Engine;

// Calls `work` on a fresh thread with an engine, and returns when it is done. What `work` throws is thrown
// here.
//
//   on_stage([&](Engine& engine) {
//       engine.reset({.actors = 2});
//       engine.spawn(0, [&] { engine.sleep(5us); engine.wake(1); });
//       engine.spawn(1, [&] { engine.block({.what = "rank 0", .on = 0}); });
//       outcome = engine.run();
//   });
void on_stage(const std::function<void(Engine&)>& work);

}  // namespace deadrank::sim
