// tests/runners/commands/limits_test.cpp — Goal: numbers that are none are refused, and what a shell's limits
// take from the program makes a run unknown: never skipped, never judged, never silent.
#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "results/processes/private_directory.h"
#include "runners/backends/process/mpirun.h"
#include "tests/support/shell.h"

namespace deadrank::tests {
namespace {

using testing::HasSubstr;
using testing::Not;

Answer deadrank(const std::string& arguments, const std::string& before = "true") {
    return shell(fmt::format("{}; timeout 300 env DEADRANK_CATALOG='" DEADRANK_SOURCE_DIRECTORY
                             "/scenarios/catalog' '" DEADRANK_BINARY_DIRECTORY "/deadrank' {}",
                             before, arguments));
}

TEST(CommandNumbers, AreRefusedWhereTheyAreNone) {
    for (const char* line : {"run communication/rank_leaves_all_reduce --seed -1",
                             "run communication/rank_leaves_all_reduce --seed ''",
                             "plan communication/rank_leaves_all_reduce --seed 99999999999999999999",
                             "score conformance 'mine=true' --time-limit nan", "doctor --pid 0"}) {
        const Answer answer = deadrank(line);
        EXPECT_EQ(answer.code, 64) << line << "\n" << answer.out;
    }
}

TEST(CommandPlaces, MayHoldALinkThatLeadsToItself) {
    auto place = results::processes::PrivateDirectory::make();
    ASSERT_TRUE(place);
    std::filesystem::create_symlink("self", place->path() / "self");
    const Answer answer = deadrank("diagnose " + place->path().string());
    EXPECT_THAT(answer.out, Not(HasSubstr("this machine failed"))) << answer.out;
}

TEST(CommandStack, ThatIsTooSmallIsToldInOneSentence) {
    for (const int least : {64, 128}) {
        const Answer answer = deadrank("diagnose /dev/null", fmt::format("ulimit -s {}", least));
        EXPECT_EQ(answer.code, 2) << least << "\n" << answer.out;
        EXPECT_THAT(answer.out, HasSubstr("`ulimit -s` allows less")) << least;
    }
    EXPECT_THAT(deadrank("diagnose /dev/null", "ulimit -s 256").out, Not(HasSubstr("ulimit -s")));
}

class DeviceLimits : public testing::Test {
protected:
    void SetUp() override {
        if (const auto python = runners::best_python(); !python) GTEST_SKIP() << python.error().text();
    }
    static constexpr const char* real_code = "run communication/metric_logged_by_the_main_process_alone";
};

// A Python that cannot be started is not one without torch.
TEST_F(DeviceLimits, OnDescriptorsMakeARunUnknown) {
    for (const int most : {8, 40}) {
        const Answer answer = deadrank(real_code, fmt::format("ulimit -n {}", most));
        EXPECT_EQ(answer.code, 2) << most << "\n" << answer.out;
        EXPECT_THAT(answer.out, Not(HasSubstr("Traceback"))) << most;
        EXPECT_THAT(answer.out, Not(HasSubstr("skipped"))) << most;
    }
}

TEST_F(DeviceLimits, OnSizesOfFilesMakeARunUnknown) {
    auto place = results::processes::PrivateDirectory::make();
    ASSERT_TRUE(place);
    const Answer answer =
        deadrank(real_code, fmt::format("export TMPDIR={}; ulimit -f 100", place->path().string()));
    EXPECT_EQ(answer.code, 2) << answer.out;
    EXPECT_THAT(answer.out, HasSubstr("ulimit -f")) << answer.out;
    EXPECT_TRUE(std::filesystem::is_empty(place->path()));
}

}  // namespace
}  // namespace deadrank::tests
