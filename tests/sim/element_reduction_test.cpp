// tests/sim/element_reduction_test.cpp — Elements as they lie in memory are reduced as their library would:
// rank by rank, with the rounding of their type.
#include "sim/collectives/element_reduction.h"

#include <cmath>
#include <cstring>
#include <gmock/gmock.h>
#include <vector>

namespace deadrank::sim {
namespace {

template <class T>
std::vector<T> reduced(Dtype dtype, ReduceOp reduce, const std::vector<std::vector<T>>& contributions) {
    std::vector<T> result(contributions.front().size());
    ElementReduction reduction(dtype, reduce, std::as_writable_bytes(std::span(result)));
    for (const auto& one : contributions) reduction.take(std::as_bytes(std::span(one)));
    reduction.finish(static_cast<Rank>(contributions.size()));
    return result;
}

TEST(ElementReduction, AddsFloatsInRankOrder) {
    const float large = 1e8F;  // 1e8 + 1 is 1e8, so the order shows
    EXPECT_EQ(reduced<float>(Dtype::f32, ReduceOp::sum, {{large}, {1}, {-large}}), std::vector<float>{0});
    EXPECT_EQ(reduced<float>(Dtype::f32, ReduceOp::sum, {{large}, {-large}, {1}}), std::vector<float>{1});
}

TEST(ElementReduction, AveragesMultipliesAndCompares) {
    EXPECT_EQ(reduced<double>(Dtype::f64, ReduceOp::avg, {{1}, {2}}), std::vector<double>{1.5});
    EXPECT_EQ(reduced<std::int32_t>(Dtype::i32, ReduceOp::avg, {{3}, {4}}), std::vector<std::int32_t>{3});
    EXPECT_EQ(reduced<std::int64_t>(Dtype::i64, ReduceOp::prod, {{3}, {-4}}), std::vector<std::int64_t>{-12});
    EXPECT_EQ(reduced<std::uint8_t>(Dtype::u8, ReduceOp::max, {{200}, {100}}),
              std::vector<std::uint8_t>{200});
    EXPECT_EQ(reduced<std::uint8_t>(Dtype::u8, ReduceOp::sum, {{200}, {100}}), std::vector<std::uint8_t>{44});
    EXPECT_EQ(reduced<std::int16_t>(Dtype::i16, ReduceOp::min, {{-5}, {7}}), std::vector<std::int16_t>{-5});
}

TEST(ElementReduction, CombinesBits) {
    EXPECT_EQ(reduced<std::int32_t>(Dtype::i32, ReduceOp::band, {{6}, {3}}), std::vector<std::int32_t>{2});
    EXPECT_EQ(reduced<std::int32_t>(Dtype::i32, ReduceOp::bor, {{6}, {3}}), std::vector<std::int32_t>{7});
    EXPECT_EQ(reduced<std::int32_t>(Dtype::i32, ReduceOp::bxor, {{6}, {3}}), std::vector<std::int32_t>{5});
}

TEST(ElementReduction, TakesTheSumOfBooleansAsOr) {
    EXPECT_EQ(reduced<std::uint8_t>(Dtype::boolean, ReduceOp::sum, {{1, 0}, {1, 0}}),
              (std::vector<std::uint8_t>{1, 0}));
}

TEST(ElementReduction, LetsNanWin) {
    const float nan = std::nanf("");
    EXPECT_TRUE(std::isnan(reduced<float>(Dtype::f32, ReduceOp::max, {{nan}, {1}}).front()));
    EXPECT_TRUE(std::isnan(reduced<float>(Dtype::f32, ReduceOp::min, {{1}, {nan}}).front()));
}

// Bit patterns: 1.0 is 0x3f80 in bf16 and 0x3c00 in f16.
TEST(ElementReduction, RoundsHalfPrecisionsToNearestEven) {
    using Bits = std::vector<std::uint16_t>;
    EXPECT_EQ(reduced<std::uint16_t>(Dtype::bf16, ReduceOp::sum, {{0x3f80}, {0x3f80}}), Bits{0x4000});  // 2
    EXPECT_EQ(reduced<std::uint16_t>(Dtype::f16, ReduceOp::sum, {{0x3c00}, {0x3c00}}), Bits{0x4000});   // 2
    // 256 + 1 lies between 256 and 258 in bf16: to the even mantissa, 256. 258 + 1 lies between 258 and 260:
    // 260.
    EXPECT_EQ(reduced<std::uint16_t>(Dtype::bf16, ReduceOp::sum, {{0x4380}, {0x3f80}}), Bits{0x4380});
    EXPECT_EQ(reduced<std::uint16_t>(Dtype::bf16, ReduceOp::sum, {{0x4381}, {0x3f80}}), Bits{0x4382});
    // 2048 + 1 in f16: 2048; 2050 + 1: 2052.
    EXPECT_EQ(reduced<std::uint16_t>(Dtype::f16, ReduceOp::sum, {{0x6800}, {0x3c00}}), Bits{0x6800});
    EXPECT_EQ(reduced<std::uint16_t>(Dtype::f16, ReduceOp::sum, {{0x6801}, {0x3c00}}), Bits{0x6802});
    EXPECT_EQ(reduced<std::uint16_t>(Dtype::f16, ReduceOp::sum, {{0x7bff}, {0x7bff}}),
              Bits{0x7c00});  // infinite
    EXPECT_EQ(reduced<std::uint16_t>(Dtype::f16, ReduceOp::sum, {{0x0001}, {0x0001}}),
              Bits{0x0002});  // subnormal
}

TEST(ElementReduction, CountsWhatIsNotThereAsZero) {
    std::vector<float> result(2);
    ElementReduction reduction(Dtype::f32, ReduceOp::sum, std::as_writable_bytes(std::span(result)));
    const std::vector<float> longer{1, 2}, shorter{10};
    reduction.take(std::as_bytes(std::span(longer)));
    reduction.take(std::as_bytes(std::span(shorter)));
    EXPECT_THAT(result, testing::ElementsAre(11, 2));
}

}  // namespace
}  // namespace deadrank::sim
