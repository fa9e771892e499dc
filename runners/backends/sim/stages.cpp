// runners/backends/sim/stages.cpp — One stage is one thread that waits for work until it is closed.
#include "runners/backends/sim/stages.h"

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <thread>
#include <utility>

#include "sim/engine/engine.h"
#include "sim/engine/stage.h"

namespace deadrank::runners {

namespace {

#ifdef DEADRANK_DEBUG_BUILD
constexpr bool debug_build = true;  // reports how much of their stacks the ranks used
#else
constexpr bool debug_build = false;
#endif

}  // namespace

class Stages::Stage {
public:
    Stage() : thread_([this] { live(); }) {}
    ~Stage() {
        hand_over(nullptr, true);
        thread_.join();
    }

    void play(const std::function<void(sim::Engine&)>& work) {
        hand_over(&work, false);
        std::unique_lock lock(mutex_);
        done_.wait(lock, [&] { return work_ == nullptr; });
        if (const auto thrown = std::exchange(thrown_, nullptr)) std::rethrow_exception(thrown);
    }

private:
    void hand_over(const std::function<void(sim::Engine&)>* work, bool closing) {
        const std::lock_guard lock(mutex_);
        work_ = work;
        closing_ = closing;
        given_.notify_one();
    }

    void live() {
        sim::on_stage([this](sim::Engine& engine) {
            std::size_t deepest = 0;
            while (const auto* work = next()) {
                finish(attempt(*work, engine));
                if constexpr (debug_build) deepest = std::max(deepest, engine.stack_high_water());
            }
            if (deepest > 0)
                fmt::print(stderr, "deadrank: the deepest stack of a rank held {} bytes\n", deepest);
        });
    }

    const std::function<void(sim::Engine&)>* next() {
        std::unique_lock lock(mutex_);
        given_.wait(lock, [&] { return work_ != nullptr || closing_; });
        return work_;
    }

    static std::exception_ptr attempt(const std::function<void(sim::Engine&)>& work, sim::Engine& engine) {
        try {
            work(engine);
            return nullptr;
        } catch (...) {
            return std::current_exception();
        }
    }

    void finish(std::exception_ptr thrown) {
        const std::lock_guard lock(mutex_);
        thrown_ = std::move(thrown);
        work_ = nullptr;
        done_.notify_one();
    }

    std::mutex mutex_;
    std::condition_variable given_, done_;
    const std::function<void(sim::Engine&)>* work_ = nullptr;
    std::exception_ptr thrown_ = nullptr;
    bool closing_ = false;
    std::thread thread_;  // last: it uses all of the above
};

Stages::Stages() = default;
Stages::~Stages() = default;

std::unique_ptr<Stages::Stage> Stages::take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<Stage>();
    auto stage = std::move(idle_.back());
    idle_.pop_back();
    return stage;
}

void Stages::play(const std::function<void(sim::Engine&)>& work) {
    auto stage = take();
    stage->play(work);  // a stage on which something was thrown is not used again
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(stage));
}

}  // namespace deadrank::runners
