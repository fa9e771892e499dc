// tests/inject/standin/small_float_test.cpp — Goal: every pattern of a small float is the number it stands
// for, and numbers between are rounded to the nearest, ties to even.
#include <gtest/gtest.h>

#include "inject/standin/exchange/arithmetic.h"

namespace deadrank::inject::standin {
namespace {

template <class Small>
void expect_every_pattern_to_come_back(unsigned patterns) {
    for (unsigned bits = 0; bits < patterns; ++bits) {
        const Small one{static_cast<decltype(Small::bits)>(bits)};
        const float value = one.decode();
        if (std::isnan(value)) {
            EXPECT_TRUE(std::isnan(Small::encode(value).decode()));
        } else if (!std::isinf(value)) {
            EXPECT_EQ(Small::encode(value).bits, one.bits) << bits;
        }
    }
}

TEST(SmallFloat, ComesBackFromEveryPattern) {
    expect_every_pattern_to_come_back<Half>(65536);
    expect_every_pattern_to_come_back<Bfloat16>(65536);
    expect_every_pattern_to_come_back<Float8E4M3>(256);
    expect_every_pattern_to_come_back<Float8E5M2>(256);
}

TEST(SmallFloat, KnowsItsPatterns) {
    EXPECT_EQ(Half::encode(1.0F).bits, 0x3c00);
    EXPECT_EQ(Half::encode(-2.0F).bits, 0xc000);
    EXPECT_EQ(Half::encode(65504.0F).bits, 0x7bff);
    EXPECT_EQ(Half::encode(5.9604645e-8F).bits, 0x0001);
    EXPECT_EQ(Bfloat16::encode(1.0F).bits, 0x3f80);
    EXPECT_EQ(Float8E4M3::encode(448.0F).bits, 0x7e);
    EXPECT_EQ(Float8E5M2::encode(57344.0F).bits, 0x7b);
    EXPECT_EQ(Float8E4M3::encode(1.5F).bits, 0x3c);
}

TEST(SmallFloat, RoundsTiesToEven) {
    EXPECT_EQ(Half::encode(2049.0F).decode(), 2048.0F);
    EXPECT_EQ(Half::encode(2051.0F).decode(), 2052.0F);
    EXPECT_EQ(Float8E4M3::encode(17.0F).decode(), 16.0F);
    EXPECT_EQ(Float8E4M3::encode(19.0F).decode(), 20.0F);
    EXPECT_EQ(Float8E5M2::encode(7.5F).decode(), 8.0F);
}

TEST(SmallFloat, OverflowsAsItsKernelsDo) {
    EXPECT_TRUE(std::isinf(Half::encode(70000.0F).decode()));
    EXPECT_TRUE(std::isinf(Bfloat16::encode(3.4e38F).decode()));
    EXPECT_EQ(Float8E4M3::encode(1000.0F).decode(), 448.0F);
    EXPECT_EQ(Float8E5M2::encode(-1e9F).decode(), -57344.0F);
}

}  // namespace
}  // namespace deadrank::inject::standin
