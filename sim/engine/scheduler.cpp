// sim/engine/scheduler.cpp — The rare paths of the scheduling algorithm.
#include "sim/engine/scheduler.h"

#include <utility>

#include "scenarios/model/error.h"

namespace deadrank::sim {

void Scheduler::suspend_until(const std::chrono::steady_clock::time_point&) noexcept {
    // Only a real-time wait of Boost.Fiber leads here, and no rank may use one.
    CHECK(!"a fiber waits in real time");
}

void Scheduler::run_dispatcher() {
    if (!dispatcher_) return;
    Context* main = Context::active();
    CHECK(main->is_context(boost::fibers::type::main_context));
    set_next(main);
    std::exchange(dispatcher_, nullptr)->resume();
}

}  // namespace deadrank::sim
