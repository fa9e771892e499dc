// sim/fiber_pool.cpp — Creating, switching and retiring fibers. Every switch of a simulation passes through switch_to().
#include "sim/fiber_pool.h"

#include <boost/fiber/fiber.hpp>
#include <boost/fiber/mutex.hpp>
#include <boost/fiber/operations.hpp>
#include <boost/fiber/scheduler.hpp>
#include <cxxabi.h>

#include "scenarios/check.h"
#include "sim/engine.h"
#include "sim/scheduler.h"
#include "sim/stacks.h"

namespace deadrank::sim {

namespace {

HandledExceptions& handled_exceptions() { return *reinterpret_cast<HandledExceptions*>(abi::__cxa_get_globals()); }

// Boost takes stack allocators by value; the slab stays where it is.
struct StacksOf {
    SlabStacks* stacks;
    const std::uint64_t** canary;  // told to the fiber that is being born

    boost::context::stack_context allocate() {
        const boost::context::stack_context stack = stacks->allocate();
        *canary = stacks->canary_of(stack);
        return stack;
    }
    void deallocate(const boost::context::stack_context& stack) noexcept { stacks->deallocate(stack); }
};

constexpr std::size_t kept_fibers = 4096;  // more than this are not kept for a much smaller simulation

}  // namespace

FiberPool::FiberPool(Engine& engine)
    : engine_(engine), scheduler_(new Scheduler), handled_(&handled_exceptions()) {
    // Boost's spinlock seeds a generator from std::random_device at its first use in a thread, with 9 KB of stack: here.
    boost::fibers::mutex once;
    once.lock();
    once.unlock();
    main_.context = Scheduler::Context::active();
    CHECK(main_.context->is_context(boost::fibers::type::main_context));
    main_.context->get_scheduler()->set_algo(scheduler_);
}

FiberPool::~FiberPool() { retire_all(); }

void FiberPool::prepare(std::size_t expected, std::size_t stack_bytes) {
    CHECK(active_ == &main_);
    const bool other_size = !stacks_ || stacks_->stack_bytes() < stack_bytes || stacks_->stack_bytes() > 4 * stack_bytes;
    const bool too_many = parked_.size() > kept_fibers && parked_.size() / 4 > expected;
    if (other_size || too_many) {
        retire_all();
        stacks_.reset();
        stacks_ = std::make_unique<SlabStacks>(stack_bytes);
    }
    CHECK(stacks_->in_use() == parked_.size());
    if (expected > parked_.size()) stacks_->reserve(expected - parked_.size());
    parked_.reserve(expected);
}

Fiber& FiberPool::take() {
    if (!parked_.empty()) {
        Fiber& fiber = *parked_.back();
        parked_.pop_back();
        return fiber;
    }
    const std::uint64_t* canary = nullptr;
    boost::fibers::fiber(boost::fibers::launch::post, std::allocator_arg, StacksOf{stacks_.get(), &canary}, [this] {
        live();
    }).detach();
    // Its first resume lays its Fiber on its stack and comes straight back.
    Fiber cradle;
    cradle.context = scheduler_->take_started();
    creator_ = active_;
    switch_to(cradle);
    newborn_->canary = canary;
    return *std::exchange(newborn_, nullptr);
}

void FiberPool::switch_to(Fiber& to) {
    const Fiber& from = *active_;
    if (from.canary) CHECK(*from.canary == SlabStacks::canary);
    const HandledExceptions mine = *handled_;
    active_ = &to;
    to.context->resume();
    *handled_ = mine;
}

void FiberPool::live() {
    Fiber self;
    self.context = Scheduler::Context::active();
    *handled_ = {};
    active_ = newborn_ = &self;
    switch_to(*creator_);
    while (!self.leaves) {
        engine_.perform_body(self);
        parked_.push_back(&self);
        engine_.go_on_from(self);
    }
    active_ = &main_;
}

void FiberPool::retire_all() {
    CHECK(active_ == &main_);
    for (Fiber* fiber : std::exchange(parked_, {})) {
        fiber->leaves = true;
        scheduler_->set_next(main_.context);  // where the end of a fiber leads
        switch_to(*fiber);
    }
    scheduler_->run_dispatcher();
}

std::size_t FiberPool::high_water() const { return stacks_ ? stacks_->high_water() : 0; }

}  // namespace deadrank::sim
