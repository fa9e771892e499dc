// tests/scenarios/value_test.cpp — Goal: a text means one integer, exactly, and a text that means none is
// told what would do.
#include "scenarios/model/value.h"

#include <gtest/gtest.h>
#include <tuple>

namespace deadrank::tests {
namespace {

using scenarios::parse_value;
using scenarios::Value;
using scenarios::value_text;
using scenarios::ValueType;

struct Case {
    ValueType type;
    const char* text;
    std::int64_t number;
    const char* written;  // what value_text makes of it
};

void PrintTo(const Case& row, std::ostream* out) {
    *out << scenarios::type_name(row.type) << " " << row.text;
}

class Quantity : public testing::TestWithParam<Case> {};

TEST_P(Quantity, IsReadExactlyAndWrittenInItsLargestUnit) {
    const auto value = parse_value(GetParam().type, GetParam().text);
    ASSERT_TRUE(value) << value.error().text();
    EXPECT_EQ(value->number, GetParam().number);
    EXPECT_EQ(value_text(*value), GetParam().written);
}

INSTANTIATE_TEST_SUITE_P(
    Texts, Quantity,
    testing::Values(
        Case{ValueType::duration, "5us", 5'000, "5us"},
        Case{ValueType::duration, "1.5ms", 1'500'000, "1500us"}, Case{ValueType::duration, "0s", 0, "0ns"},
        Case{ValueType::duration, "-2s", -2'000'000'000, "-2s"},
        Case{ValueType::duration, "90s", 90'000'000'000, "90s"},
        Case{ValueType::duration, "120 s", 120'000'000'000, "2m"},
        Case{ValueType::duration, "48h", 172'800'000'000'000, "2d"},
        Case{ValueType::duration, "0.000000001s", 1, "1ns"}, Case{ValueType::bytes, "64KiB", 65'536, "64KiB"},
        Case{ValueType::bytes, "1.5GiB", 1'610'612'736, "1536MiB"},
        Case{ValueType::bytes, "1000000B", 1'000'000, "1MB"},
        Case{ValueType::rate, "100Gbps", 100'000'000'000, "100Gbps"},
        Case{ValueType::rate, "2GB/s", 16'000'000'000, "16Gbps"}, Case{ValueType::rate, "1B/s", 8, "8bps"},
        Case{ValueType::ratio, "1/10000", 100'000, "0.01%"},
        Case{ValueType::ratio, "0.1%", 1'000'000, "0.1%"}, Case{ValueType::ratio, "1", 1'000'000'000, "100%"},
        Case{ValueType::ratio, "0.25", 250'000'000, "25%"}, Case{ValueType::ratio, "3ppm", 3'000, "0.0003%"},
        Case{ValueType::ratio, "1/3", 333'333'333, "33.3333333%"},
        Case{ValueType::factor, "1.5x", 1'500, "1.5x"}, Case{ValueType::factor, "2", 2'000, "2x"},
        Case{ValueType::factor, "0.125x", 125, "0.125x"}, Case{ValueType::integer, "-7", -7, "-7"},
        Case{ValueType::boolean, "true", 1, "true"},
        Case{ValueType::integer, "9223372036854775807", INT64_MAX, "9223372036854775807"}));

struct Refusal {
    ValueType type;
    const char* text;
    const char* says;
};

void PrintTo(const Refusal& row, std::ostream* out) {
    *out << scenarios::type_name(row.type) << " '" << row.text << "'";
}

class BadQuantity : public testing::TestWithParam<Refusal> {};

TEST_P(BadQuantity, IsRefusedWithWhatWouldDo) {
    const auto value = parse_value(GetParam().type, GetParam().text);
    ASSERT_FALSE(value) << "it was read as " << value_text(*value);
    EXPECT_EQ(value.error().text(), GetParam().says);
}

constexpr const char* units_of_time = " — write a number and one of ns, us, ms, s, m, min, h, d: \"5us\"";

std::string with_units(const char* what) { return std::string(what) + units_of_time; }

TEST(Durations, AreRefusedWithTheUnitsThatWouldDo) {
    for (const char* text : {"5", "", "s", "5 parsecs", "5US", "5us ", " 5us", "1e3s", ".5s", "5.s", "1_000s",
                             "+5s", "5..6s", "0x10s", "--1s", "- 1s", "5s5"}) {
        const auto value = parse_value(ValueType::duration, text);
        ASSERT_FALSE(value) << "'" << text << "' was read as " << value_text(*value);
        EXPECT_EQ(value.error().text(),
                  with_units(("'" + std::string(text) + "' is not a duration").c_str()));
    }
    EXPECT_EQ(parse_value(ValueType::duration, "0.5ns").error().text(),
              with_units("'0.5ns' is not a duration: it is finer than the smallest step"));
    EXPECT_EQ(parse_value(ValueType::duration, "200000d").error().text(),
              with_units("'200000d' is not a duration: it is too large"));
    EXPECT_FALSE(parse_value(ValueType::duration, std::string(500, '9') + "d"));
    EXPECT_FALSE(parse_value(ValueType::duration, "0." + std::string(500, '0') + "1d"));
}

INSTANTIATE_TEST_SUITE_P(
    Texts, BadQuantity,
    testing::Values(
        Refusal{ValueType::bytes, "64kb",
                "'64kb' is not a size in bytes — write a number and one of B, kB, KiB, MB, MiB, GB, GiB, TB, "
                "TiB: \"64KiB\""},
        Refusal{ValueType::rate, "100G",
                "'100G' is not a rate — write a number and one of bps, kbps, Mbps, Gbps, Tbps, B/s, kB/s, "
                "MB/s, GB/s, TB/s: "
                "\"100Gbps\""},
        Refusal{ValueType::ratio, "1/0", "'1/0' is not a ratio — write \"1/10000\" or \"0.1%\""},
        Refusal{ValueType::ratio, "1/2/3", "'1/2/3' is not a ratio — write \"1/10000\" or \"0.1%\""},
        Refusal{ValueType::factor, "x", "'x' is not a factor — write \"1.5x\""},
        Refusal{ValueType::factor, "1.0001x",
                "'1.0001x' is not a factor: it is finer than the smallest step — write \"1.5x\""},
        Refusal{ValueType::integer, "7.0", "'7.0' is not an integer — write a whole number"},
        Refusal{ValueType::integer, "9223372036854775808",
                "'9223372036854775808' is not an integer — write a whole number"},
        Refusal{ValueType::boolean, "yes", "'yes' is not a boolean — write true or false"},
        Refusal{ValueType::ranks, "1, x", "'1, x' is not a list of ranks — write numbers from 0: \"1, 2\""},
        Refusal{ValueType::ranks, "1, 1", "'1, 1' is not a list of ranks — name each once"},
        Refusal{ValueType::ranks, "-1", "'-1' is not a list of ranks — write numbers from 0: \"1, 2\""},
        Refusal{ValueType::table, "{ A = 1", "'{ A = 1' is not a table — write { NAME = \"value\" }"},
        Refusal{ValueType::table, "{ A = 1 }", "'{ A = 1 }' is not a table — write { NAME = \"value\" }"}));

TEST(Values, OfRanksAreAscending) {
    EXPECT_EQ(parse_value(ValueType::ranks, "3, 1,2")->list, (std::vector<std::int64_t>{1, 2, 3}));
    EXPECT_EQ(value_text({.type = ValueType::ranks, .list = {1, 2, 3}}), "1, 2, 3");
}

TEST(Values, OfTablesKeepEveryLetter) {
    const Value value{.type = ValueType::table,
                      .table = {{"NCCL_DEBUG", "INFO"}, {"odd key", "a \"b\"\n\tc\\ é"}}};
    EXPECT_EQ(value_text(value), "{ NCCL_DEBUG = \"INFO\", \"odd key\" = \"a \\\"b\\\"\\n\\tc\\\\ é\" }");
    EXPECT_EQ(*parse_value(ValueType::table, value_text(value)), value);
}

}  // namespace
}  // namespace deadrank::tests
