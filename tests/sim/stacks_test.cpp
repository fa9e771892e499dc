// tests/sim/stacks_test.cpp — Goal: stacks are separate, reused, cost no mapping each, and an overflow is
// found.
#include "sim/engine/stacks.h"

#include <csignal>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <sys/wait.h>

#include "sim/engine/engine.h"
#include "sim/engine/stage.h"

namespace deadrank::sim {
namespace {

std::byte* low_of(const boost::context::stack_context& stack) {
    return static_cast<std::byte*>(stack.sp) - stack.size;
}

// By a signal: a fault at a guard page, or an abort at a broken canary. Sanitizers turn it into an exit code.
bool dies_of_the_guard(int status) {
    return WIFSIGNALED(status) ? WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGABRT : status != 0;
}

std::size_t mappings() {
    std::ifstream maps("/proc/self/maps");
    std::size_t count = 0;
    for (std::string line; std::getline(maps, line);) ++count;
    return count;
}

TEST(SlabStacks, GivesSeparateStacksAndTakesThemBack) {
    SlabStacks stacks(16 << 10);
    std::set<void*> tops;
    std::vector<boost::context::stack_context> taken;
    for (int i = 0; i < 300; ++i) {
        taken.push_back(stacks.allocate());
        tops.insert(taken.back().sp);
        // The guard is the lowest page; all above it is ours.
        std::memset(low_of(taken.back()) + 4096, i, taken.back().size - 4096);
    }
    EXPECT_EQ(tops.size(), 300u);
    EXPECT_EQ(stacks.in_use(), 300u);
    void* const last = low_of(taken.back());
    stacks.deallocate(taken.back());
    EXPECT_EQ(low_of(stacks.allocate()), last) << "a stack given back is warm and goes out next";
}

TEST(SlabStacks, CostNoMappingEach) {
    SlabStacks stacks(16 << 10);
    stacks.reserve(40'000);
    const std::size_t before = mappings();
    for (int i = 0; i < 40'000; ++i) stacks.allocate();
    EXPECT_LE(mappings(), before + 4);
}

TEST(SlabStacks, KnowsTheDeepestUse) {
    SlabStacks stacks(32 << 10);
    stacks.allocate();
    EXPECT_EQ(stacks.high_water(), 0u);
    const boost::context::stack_context stack = stacks.allocate();
    static_cast<std::byte*>(stack.sp)[-10'000] = std::byte{1};
    EXPECT_GE(stacks.high_water(), 10'000u);
    EXPECT_LE(stacks.high_water(), 10'000u + 8 + 768);
}

TEST(SlabStacks, FallsBackToCanaryWords) {
    SlabStacks stacks(16 << 10, GuardKind::canary);
    const boost::context::stack_context one = stacks.allocate();
    const boost::context::stack_context other = stacks.allocate();
    std::byte* const inside = static_cast<std::byte*>(one.sp) - 100;
    EXPECT_TRUE(stacks.intact_below(inside));
    low_of(one)[3] = std::byte{1};
    EXPECT_FALSE(stacks.intact_below(inside));
    EXPECT_TRUE(stacks.intact_below(static_cast<std::byte*>(other.sp) - 100));
    EXPECT_TRUE(stacks.intact_below(&stacks)) << "not on a stack of ours";
}

TEST(SlabStacksDeathTest, StopsAWriteBelowTheStack) {
    SlabStacks stacks(16 << 10);
    const boost::context::stack_context stack = stacks.allocate();
    if (stacks.guard() != GuardKind::page)
        GTEST_SKIP() << "this kernel has no MADV_GUARD_INSTALL (Linux 6.13)";
    EXPECT_EXIT(*reinterpret_cast<volatile char*>(low_of(stack) + 100) = 1, dies_of_the_guard, "");
}

int recurse(int depth) {
    volatile char frame[512];
    std::memset(const_cast<char*>(frame), depth, sizeof frame);
    return depth == 0 ? frame[7] : recurse(depth - 1) + frame[9];
}

void dig(int depth, bool canaries) {
    on_stage([=](Engine& engine) {
        engine.reset({.stack_bytes = 16 << 10, .canaries = canaries});
        engine.spawn(0, [&engine, depth] {
            recurse(depth);
            engine.sleep(Time(1));
        });
        EXPECT_EQ(engine.run().ending, Ending::completed);
    });
}

TEST(SlabStacksDeathTest, EndsAFiberThatRecursesWithoutEnd) {
    dig(10, false);  // well within
    EXPECT_EXIT(dig(1'000, false), dies_of_the_guard, "");
}

TEST(SlabStacksDeathTest, FindsAnOverflowByItsCanaryAtTheNextSwitch) {
    dig(10, true);
    EXPECT_EXIT(dig(30, true), dies_of_the_guard, "intact_below");
}

}  // namespace
}  // namespace deadrank::sim
