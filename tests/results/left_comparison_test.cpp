// tests/results/left_comparison_test.cpp — What a run leaves beside what the healthy run leaves.
#include "results/judging/left_comparison.h"

#include <gmock/gmock.h>

namespace deadrank::results {
namespace {

using testing::HasSubstr;

LeftFile with_tensors(std::map<std::string, std::string> values) {
    LeftFile file;
    file.bytes = 100;
    file.has_tensors = true;
    file.tensors = std::move(values);
    return file;
}

LeftFile with_bytes(std::int64_t bytes) {
    LeftFile file;
    file.bytes = bytes;
    return file;
}

LeftFile missing_file() {
    LeftFile file;
    file.there = false;
    return file;
}

LeftComparison compared(const LeftFile& seen, const LeftFile& healthy) {
    return compare_left_files({{"/run/out/model.pt", seen}}, {{"/run/out/model.pt", healthy}}, "/run");
}

TEST(LeftComparison, OtherBytesWithTheSameTensorsAreTheSame) {
    LeftFile seen = with_tensors({{"w", "1"}});
    seen.digest = "another";
    EXPECT_EQ(compared(seen, with_tensors({{"w", "1"}})).what, LeftDifference::none);
}

TEST(LeftComparison, AnotherValueIsAnotherResult) {
    const auto found = compared(with_tensors({{"b", "1"}, {"w", "2"}}), with_tensors({{"b", "1"}, {"w", "1"}}));
    EXPECT_EQ(found.what, LeftDifference::other_result);
    EXPECT_EQ(found.says, "it leaves out/model.pt with other values than the healthy run: w (1 of 2 tensors)");
}

TEST(LeftComparison, ACheckpointThatIsGoneOrUnreadableIsLost) {
    EXPECT_EQ(compared(missing_file(), with_tensors({{"w", "1"}})).what, LeftDifference::lost_checkpoint);
    LeftFile torn = with_bytes(50);
    torn.trouble = "EOFError";
    const auto found = compared(torn, with_tensors({{"w", "1"}}));
    EXPECT_EQ(found.what, LeftDifference::lost_checkpoint);
    EXPECT_THAT(found.says, HasSubstr("EOFError"));
}

TEST(LeftComparison, ALogMayDifferButMayNotBeMissingOrEmpty) {
    EXPECT_EQ(compared(with_bytes(10), with_bytes(20)).what, LeftDifference::none);
    EXPECT_EQ(compared(with_bytes(0), with_bytes(20)).what, LeftDifference::other_result);
    EXPECT_EQ(compared(missing_file(), with_bytes(20)).what, LeftDifference::other_result);
}

TEST(LeftComparison, TheWorstOfSeveralComesFirst) {
    const LeftFile healthy = with_tensors({{"w", "1"}});
    const auto found =
        compare_left_files({{"/run/a.pt", missing_file()}, {"/run/b.pt", with_tensors({{"w", "2"}})}},
                           {{"/run/a.pt", healthy}, {"/run/b.pt", healthy}}, "/run");
    EXPECT_EQ(found.what, LeftDifference::other_result);
    EXPECT_THAT(found.says, HasSubstr("b.pt"));
    EXPECT_THAT(found.says, HasSubstr("; and 1 more file"));
}

}  // namespace
}  // namespace deadrank::results
