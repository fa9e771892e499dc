// inject/standin/operators/host_generator.h — Random numbers of a device. A CUDA generator is a seed and an
// offset that each call moves on, so that a checkpoint can restore it. Each call here seeds a CPU generator
// from the two. The numbers are a function of seed and offset, as on a GPU, but they are not Philox's.
#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/core/Generator.h>
#include <ATen/core/ivalue.h>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>

namespace deadrank::inject::standin::operators {

// Takes a CUDA generator, moves it on by one call, and returns the seed of this call's CPU generator.
inline std::uint64_t next_seed(at::Generator generator) {
    constexpr std::uint64_t step = 4;  // torch wants offsets that are multiples of four
    const std::lock_guard lock(generator.mutex());
    std::uint64_t bits = generator.current_seed() ^ ((generator.get_offset() + 1) * 0x9E3779B97F4A7C15ULL);
    generator.set_offset(generator.get_offset() + step);
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9ULL;  // SplitMix64
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBULL;
    return bits ^ (bits >> 31);
}

// A CPU generator for one call. Each thread has one, since making one takes longer than most calls.
inline const at::Generator& seeded_generator(std::uint64_t seed) {
    static thread_local at::Generator generator = at::detail::createCPUGenerator(seed);
    const std::lock_guard lock(generator.mutex());
    generator.set_current_seed(seed);
    return generator;
}

// Operators without a generator argument draw from torch's default CPU generator. For the time of one call it
// draws the device's numbers; then the program's own sequence of CPU numbers continues.
class DefaultGeneratorOnLoan {
public:
    explicit DefaultGeneratorOnLoan(std::uint64_t seed) : lock_(mutex()), saved_(generator().get_state()) {
        at::Generator lent = generator();
        const std::lock_guard lock(lent.mutex());
        lent.set_current_seed(seed);
    }
    ~DefaultGeneratorOnLoan() { generator().set_state(saved_); }
    DefaultGeneratorOnLoan(const DefaultGeneratorOnLoan&) = delete;
    DefaultGeneratorOnLoan& operator=(const DefaultGeneratorOnLoan&) = delete;

private:
    static std::recursive_mutex& mutex() {
        static std::recursive_mutex& one = *new std::recursive_mutex;
        return one;
    }
    static at::Generator generator() { return at::detail::getDefaultCPUGenerator(); }

    std::lock_guard<std::recursive_mutex> lock_;
    at::Tensor saved_;
};

// DEADRANK_OPERATORS_RNG=cpu: random operators continue the program's sequence of CPU numbers, so that a run
// can be compared with the same program on the CPU.
inline bool draws_from_cpu() {
    static const bool asked = [] {
        const char* text = std::getenv("DEADRANK_OPERATORS_RNG");
        return text && std::string(text) == "cpu";
    }();
    return asked;
}

}  // namespace deadrank::inject::standin::operators
