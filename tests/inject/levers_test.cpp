// tests/inject/levers_test.cpp — Goal: a backend has the levers that it carries out and no others: the rest
// is refused by name, and its capabilities say the same.
#include "inject/core/levers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deadrank::inject {
namespace {

using ::testing::ElementsAre;

// It can kill, and slow a device down.
class FewLevers final : public LeversOf<FewLevers> {
public:
    int killed = 0;

    Rank ranks() const override { return 2; }
    int node_of(Rank) const override { return 0; }
    Result<Done> carry_out(const Kill& pull) {
        killed = pull.signal;
        return Done{};
    }
    Result<Done> carry_out(const ChangeDevice&) { return Done{}; }

private:
    tl::unexpected<scenarios::Error> missing(const Lever& lever) const override {
        return scenarios::refuse(scenarios::ErrorCode::unsupported,
                                 "there is no lever to " + std::string(lever.does));
    }
};

TEST(LeversOf, ItsNamesAreThoseThatItCarriesOut) {
    EXPECT_THAT(
        FewLevers::names({ChangeDevice::fault.name, ChangeDevice::leak.name, ChangeDevice::memory.name}),
        ElementsAre("kill", "change_device.slow"));
}

TEST(LeversOf, WhatItLacksIsRefusedByItself) {
    FewLevers levers;
    EXPECT_TRUE(levers.pull(Kill{1, 9}));
    EXPECT_EQ(levers.killed, 9);
    const auto stopped = levers.pull(Stop{1});
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().code, scenarios::ErrorCode::unsupported);
    EXPECT_EQ(stopped.error().what, "there is no lever to stop a process (SIGSTOP)");
}

}  // namespace
}  // namespace deadrank::inject
