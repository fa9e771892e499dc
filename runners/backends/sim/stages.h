// runners/backends/sim/stages.h — Threads on which simulations are played, kept for the next one, so that an
// engine's stacks and queues stay warm. Each simulation takes one while it plays, so there are as many as
// play at once.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace deadrank::sim {
class Engine;
}

namespace deadrank::runners {

class Stages {
public:
    Stages();
    ~Stages();

    // Calls `work` on a stage and returns when it is done. What `work` throws is thrown here. Thread-safe.
    void play(const std::function<void(sim::Engine&)>& work);

private:
    class Stage;
    std::unique_ptr<Stage> take();

    std::mutex mutex_;
    std::vector<std::unique_ptr<Stage>> idle_;
};

}  // namespace deadrank::runners
