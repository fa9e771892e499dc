// inject/standin/operators/lending_allocator.h — A CPU allocator that lends CUDA memory. A CPU kernel
// allocates its results as CPU memory. While a kernel computes for a device, that memory comes from torch's
// CUDA allocator instead, so a result becomes a cuda tensor without a copy and torch.cuda.memory_allocated()
// counts it.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <cstring>

#include "inject/standin/operators/torch_cuda.h"

namespace deadrank::inject::standin::operators {

class LendingAllocator final : public c10::Allocator {
public:
    // Replaces torch's CPU allocator. Called once, and never undone: memory in use keeps pointing here.
    static void install() {
        constexpr std::uint8_t above_all = 255;
        c10::SetCPUAllocator(&instance(), above_all);
    }
    static LendingAllocator& instance() {
        static LendingAllocator& one = *new LendingAllocator;
        return one;
    }
    static c10::Allocator& cuda() { return cuda_allocator(); }

    // Lends to the calling thread for as long as it lives.
    class Loan {
    public:
        Loan() { ++loans_; }
        ~Loan() { --loans_; }
        Loan(const Loan&) = delete;
        Loan& operator=(const Loan&) = delete;
    };

    c10::DataPtr allocate(std::size_t bytes) override {
        if (loans_ == 0) return host_.allocate(bytes);
        c10::DataPtr memory = cuda().allocate(bytes);
        memory.unsafe_set_device(c10::kCPU);
        return memory;
    }
    // Must be the allocator's that allocates: torch resizes by raw pointers.
    c10::DeleterFnPtr raw_deleter() const override {
        return loans_ == 0 ? host_.raw_deleter() : cuda().raw_deleter();
    }
    void copy_data(void* to, const void* from, std::size_t bytes) const override {
        std::memcpy(to, from, bytes);
    }
    // Whether the memory was lent. It was not if another thread of the kernel allocated it.
    static bool is_lent(const c10::DataPtr& memory) { return memory.get_deleter() == cuda().raw_deleter(); }

private:
    LendingAllocator() : host_(*c10::GetCPUAllocator()) {}

    static inline thread_local int loans_ = 0;
    c10::Allocator& host_;
};

}  // namespace deadrank::inject::standin::operators
