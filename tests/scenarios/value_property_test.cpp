// tests/scenarios/value_property_test.cpp — Goal: whatever value_text writes, parse_value reads to the same
// value; strange texts never crash.
#include <gtest/gtest.h>

#include "scenarios/model/value.h"

#if __has_include(<rapidcheck.h>)
#include <rapidcheck.h>

namespace deadrank::tests {
namespace {

using scenarios::parse_value;
using scenarios::Value;
using scenarios::value_text;
using scenarios::ValueType;

const ValueType quantities[] = {ValueType::integer, ValueType::duration, ValueType::bytes,
                                ValueType::rate,    ValueType::ratio,    ValueType::factor};

// Powers of two and ten times small numbers: where units change.
rc::Gen<std::int64_t> numbers() {
    return rc::gen::oneOf(
        rc::gen::inRange<std::int64_t>(-5'000, 5'000), rc::gen::arbitrary<std::int64_t>(),
        rc::gen::map(rc::gen::tuple(rc::gen::inRange<std::int64_t>(-99, 100), rc::gen::inRange(0, 17)),
                     [](const std::tuple<std::int64_t, int>& parts) {
                         std::int64_t number = std::get<0>(parts);
                         for (int i = 0; i < std::get<1>(parts); ++i) number *= 10;
                         return number;
                     }));
}

TEST(ValueProperty, EveryQuantityReadsBack) {
    EXPECT_TRUE(rc::check([] {
        const Value value{
            .type = *rc::gen::elementOf(std::vector<ValueType>(std::begin(quantities), std::end(quantities))),
            .number = *rc::gen::suchThat(numbers(), [](std::int64_t n) { return n != INT64_MIN; })};
        const auto read = parse_value(value.type, value_text(value));
        RC_ASSERT(read.has_value());
        RC_ASSERT(*read == value);
    }));
}

TEST(ValueProperty, EveryListOfRanksReadsBack) {
    EXPECT_TRUE(rc::check([] {
        const auto set = *rc::gen::nonEmpty(
            rc::gen::container<std::set<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 2'000'000)));
        const Value value{.type = ValueType::ranks, .list = {set.begin(), set.end()}};
        RC_ASSERT(*parse_value(value.type, value_text(value)) == value);
    }));
}

TEST(ValueProperty, EveryTableReadsBack) {
    EXPECT_TRUE(rc::check([] {
        const auto text = rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127));
        const Value value{.type = ValueType::table,
                          .table = *rc::gen::container<std::map<std::string, std::string>>(text, text)};
        const auto read = parse_value(value.type, value_text(value));
        RC_ASSERT(read.has_value());
        RC_ASSERT(*read == value);
    }));
}

TEST(ValueProperty, StrangeTextsAreReadOrRefusedAndNothingElse) {
    EXPECT_TRUE(rc::check([] {
        const auto letters = rc::gen::elementOf(std::string("0123456789.-/% xnumsKGiBbp,{}=\"\\\n\xc3\xff"));
        const std::string text = *rc::gen::container<std::string>(letters);
        for (int type = 0; type <= static_cast<int>(ValueType::table); ++type) {
            const auto value = parse_value(static_cast<ValueType>(type), text);
            if (!value) RC_ASSERT(!value.error().text().empty());
        }
    }));
}

}  // namespace
}  // namespace deadrank::tests
#else
TEST(ValueProperty, IsChecked) { GTEST_SKIP() << "rapidcheck is not installed"; }
#endif
