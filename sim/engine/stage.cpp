// sim/engine/stage.cpp — A thread for simulations, with the way back for what its work throws.
#include "sim/engine/stage.h"

#include <exception>
#include <thread>

#include "sim/engine/engine.h"

namespace deadrank::sim {

void on_stage(const std::function<void(Engine&)>& work) {
    std::exception_ptr error;
    std::thread stage([&] {
        try {
            Engine engine;
            work(engine);
        } catch (...) {
            error = std::current_exception();
        }
    });
    stage.join();
    if (error) std::rethrow_exception(error);
}

}  // namespace deadrank::sim
