// tests/inject/standin/visible_test.cpp — Goal: a launcher that shows each rank one device of the machine
// gives every rank another one.
#include <gtest/gtest.h>

#include "inject/standin/device/standin_memory.h"

namespace deadrank::inject::standin {
namespace {

using List = std::vector<int>;

TEST(VisibleDevices, AreAllUnlessSaidOtherwise) {
    EXPECT_EQ(visible_devices(nullptr, 3), (List{0, 1, 2}));
    EXPECT_EQ(visible_devices("", 3), List{});
    EXPECT_EQ(visible_devices("-1", 3), List{});
}

TEST(VisibleDevices, HaveTheOrderThatWasSaid) {
    EXPECT_EQ(visible_devices("2", 3), List{2});
    EXPECT_EQ(visible_devices("2, 0", 3), (List{2, 0}));
}

TEST(VisibleDevices, EndWithTheFirstThatDoesNotExist) {
    EXPECT_EQ(visible_devices("1,3,0", 3), List{1});
    EXPECT_EQ(visible_devices("1,one,0", 3), List{1});
    EXPECT_EQ(visible_devices("1x", 3), List{});
}

}  // namespace
}  // namespace deadrank::inject::standin
