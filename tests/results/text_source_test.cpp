// tests/results/text_source_test.cpp — Whatever is named as a log is answered in bounded time: devices, pipes
// that nobody writes into, and small files that unpack to huge ones.
#include "results/importers/text_source.h"

#include <chrono>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "results/processes/private_directory.h"
#include "tests/support/shell.h"

namespace deadrank::results::importers {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class TextSources : public testing::Test {
protected:
    void SetUp() override { ASSERT_TRUE(place_); }

    scenarios::Result<processes::PrivateDirectory> place_ = processes::PrivateDirectory::make();
    const fs::path file_ = place_->path() / "file";
};

TEST_F(TextSources, RefuseDevices) {
    for (const char* device : {"/dev/zero", "/dev/urandom"}) {
        const auto source = TextSource::open(device);
        ASSERT_FALSE(source) << device;
        EXPECT_THAT(source.error().what, HasSubstr("it is a device"));
    }
}

TEST_F(TextSources, DoNotWaitForEverForTheWriterOfANamedPipe) {
    ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
    const auto begun = std::chrono::steady_clock::now();
    auto source = TextSource::open(file_);
    ASSERT_TRUE(source);
    std::string line;
    EXPECT_FALSE((*source)->next(line));
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(10));
}

TEST_F(TextSources, ReadAPipeInPieces) {
    ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
    const int both_ends = open(file_.c_str(), O_RDWR);  // so that the reader finds a writer
    ASSERT_GE(both_ends, 0);
    std::thread writer([&] {
        for (const std::string_view piece : {"one\ntw", "o\n"}) {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            EXPECT_EQ(write(both_ends, piece.data(), piece.size()), static_cast<ssize_t>(piece.size()));
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        close(both_ends);
    });
    auto source = TextSource::open(file_);
    ASSERT_TRUE(source);
    std::string first, second;
    EXPECT_TRUE((*source)->next(first));
    EXPECT_TRUE((*source)->next(second));
    writer.join();
    EXPECT_EQ(first + " " + second, "one two");
}

// The writer never ends.
TEST_F(TextSources, EndAtTheirDeadline) {
    ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
    const auto writer =
        tests::shell("sh -c 'yes all is well > " + file_.string() + "' > /dev/null 2>&1 & echo started");
    ASSERT_EQ(writer.code, 0);
    auto source = TextSource::open(file_, TextSource::Clock::now() + std::chrono::milliseconds(300));
    ASSERT_TRUE(source);
    std::string line;
    while ((*source)->next(line)) continue;
    EXPECT_THAT((*source)->trouble(), HasSubstr("the time for reading was over"));
}

TEST_F(TextSources, EndAtTheirDeadlineThoughNothingComes) {
    ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
    const int both_ends = open(file_.c_str(), O_RDWR);
    ASSERT_GE(both_ends, 0);
    ASSERT_EQ(write(both_ends, "one\n", 4), 4);
    auto source = TextSource::open(file_, TextSource::Clock::now() + std::chrono::milliseconds(100));
    ASSERT_TRUE(source);
    std::string line;
    EXPECT_TRUE((*source)->next(line));
    EXPECT_FALSE((*source)->next(line));
    EXPECT_THAT((*source)->trouble(), HasSubstr("the time for reading was over"));
    close(both_ends);
}

// 1.2 GB of one line in 100 KB.
TEST_F(TextSources, EndWhereAPackedFileHoldsTooMuch) {
    if (tests::shell("command -v zstd").code != 0) GTEST_SKIP() << "zstd is not installed";
    ASSERT_EQ(
        tests::shell("yes 'all is well' | head -c 1200000000 | zstd -q -o '" + file_.string() + "'").code, 0);
    auto source = TextSource::open(file_);
    ASSERT_TRUE(source);
    std::string line;
    std::int64_t lines = 0;
    while ((*source)->next(line)) ++lines;
    EXPECT_LT((*source)->bytes(), (std::int64_t{1} << 30) + (1 << 20));
    EXPECT_GT(lines, 1'000'000);
    EXPECT_THAT((*source)->trouble(), HasSubstr("hold too many more"));
}

}  // namespace
}  // namespace deadrank::results::importers
