// tests/runners/backends/local/handful_test.cpp — Goal: what a newcomer's first look plays for real ends
// without a red cross, and without a case that could not be judged.
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runners/backends/process/mpirun.h"
#include "tests/support/drawn.h"
#include "tests/support/shell.h"

namespace deadrank::runners {
namespace {

std::vector<std::string> handful() {
    std::ifstream in(DEADRANK_SOURCE_DIRECTORY "/runners/backends/local/handful.txt");
    std::vector<std::string> ids;
    for (std::string line; std::getline(in, line);) {
        if (!line.empty() && line.front() != '#') ids.push_back(line);
    }
    return ids;
}

class DeviceHandful : public testing::TestWithParam<std::string> {};

TEST_P(DeviceHandful, PassesOrDiffersAsDocumented) {
    if (!tests::is_drawn_today(GetParam(), 2)) GTEST_SKIP() << tests::drawn_another_day;
    if (const auto python = best_python(); !python) GTEST_SKIP() << python.error().text();
    const auto played = tests::shell(fmt::format(
        "'" DEADRANK_BINARY_DIRECTORY "/deadrank' run --runner local --ranks 4 --json {} 2>/dev/null",
        GetParam()));
    EXPECT_EQ(played.code, 0) << played.out;
    const auto row = nlohmann::json::parse(played.out, nullptr, false);
    ASSERT_TRUE(row.is_object()) << played.out;
    EXPECT_TRUE(row.value("verdict", "") == "pass" || row.contains("documented")) << played.out;
}

INSTANTIATE_TEST_SUITE_P(, DeviceHandful, testing::ValuesIn(handful()),
                         [](const auto& id) { return id.param.substr(id.param.find('/') + 1); });

}  // namespace
}  // namespace deadrank::runners
