// sim/engine/fiber_pool.cpp — Creating, switching and retiring fibers. Every switch of a simulation passes
// through switch_to().
#include "sim/engine/fiber_pool.h"

#include <boost/fiber/fiber.hpp>
#include <boost/fiber/mutex.hpp>
#include <boost/fiber/operations.hpp>
#include <boost/fiber/scheduler.hpp>
#include <cxxabi.h>

#include "scenarios/model/error.h"
#include "sim/engine/engine.h"
#include "sim/engine/scheduler.h"
#include "sim/engine/stacks.h"

namespace deadrank::sim {

namespace {

HandledExceptions& handled_exceptions() {
    return *reinterpret_cast<HandledExceptions*>(abi::__cxa_get_globals());
}

// Boost takes stack allocators by value; the slab stays where it is.
struct StacksOf {
    SlabStacks* stacks;
    boost::context::stack_context allocate() { return stacks->allocate(); }
    void deallocate(const boost::context::stack_context& stack) noexcept { stacks->deallocate(stack); }
};

constexpr std::size_t kept_fibers = 4096;  // more than this are not kept for a much smaller simulation

}  // namespace

FiberPool::FiberPool(Engine& engine)
    : engine_(engine), scheduler_(new Scheduler), handled_(&handled_exceptions()) {
    // Boost's spinlock seeds a generator from std::random_device at its first use in a thread, with 9 KB of
    // stack: here.
    boost::fibers::mutex once;
    once.lock();
    once.unlock();
    main_ = active_ = FiberContext::active();
    CHECK(main_->is_context(boost::fibers::type::main_context));
    main_->get_scheduler()->set_algo(scheduler_);
}

FiberPool::~FiberPool() { retire_all(); }

void FiberPool::prepare(std::size_t expected, std::size_t stack_bytes, bool canaries) {
    CHECK(active_ == main_);
    const std::size_t present = stacks_ ? stacks_->stack_bytes() : 0;
    const bool other_kind = present < stack_bytes || present / 4 > stack_bytes || canaries != wants_canaries_;
    const bool too_many = parked_.size() > kept_fibers && parked_.size() / 4 > expected;
    if (other_kind || too_many) {
        retire_all();
        stacks_.reset();
        stacks_ = std::make_unique<SlabStacks>(stack_bytes, canaries ? GuardKind::canary : GuardKind::page);
        wants_canaries_ = canaries;
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
    boost::fibers::fiber(boost::fibers::launch::post, std::allocator_arg, StacksOf{stacks_.get()}, [this] {
        live();
    }).detach();
    has_canaries_ = stacks_->guard() == GuardKind::canary;
    // Its first resume puts its Fiber on its stack and comes straight back.
    creator_ = active_;
    switch_to(scheduler_->take_started());
    return *std::exchange(newborn_, nullptr);
}

void FiberPool::switch_to(FiberContext* to) {
    if (has_canaries_) CHECK(stacks_->intact_below(__builtin_frame_address(0)));
    const HandledExceptions mine = *handled_;
    active_ = to;
    to->resume();
    *handled_ = mine;
}

void FiberPool::live() {
    Fiber self;
    self.context = FiberContext::active();
    *handled_ = {};
    newborn_ = &self;
    switch_to(creator_);
    while (!self.leaves) {
        engine_.perform_body(self);
        parked_.push_back(&self);
        engine_.go_on_from(self.context);
    }
    active_ = main_;
}

void FiberPool::retire_all() {
    CHECK(active_ == main_);
    for (Fiber* fiber : std::exchange(parked_, {})) {
        fiber->leaves = true;
        scheduler_->set_next(main_);  // where the end of a fiber leads
        switch_to(fiber->context);
    }
    scheduler_->run_dispatcher();
}

std::size_t FiberPool::high_water() const { return stacks_ ? stacks_->high_water() : 0; }

}  // namespace deadrank::sim
