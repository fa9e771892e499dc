// tests/runners/backends/releases/release_cache_test.cpp — Goal: a release is whole or not there: what a
// killed run left is never used, two at once wait for each other, a full disk and a missing index are
// sentences.
#include "runners/backends/releases/release_cache.h"

#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

#include "runners/backends/releases/pip.h"
#include "tests/support/shell.h"

namespace deadrank::runners {
namespace {

namespace fs = std::filesystem;
using scenarios::Pin;
using testing::HasSubstr;

const Pin pin{"some-package", "1.0"};
const Pins known = {{pin, {std::string(64, 'a'), "some_package-1.0-py3-none-any.whl", 1000, 10}}};
const ProgressSink silent = [](const std::string&) {};

class ReleaseCacheTest : public testing::Test {
protected:
    void SetUp() override {
        fs::remove_all(place_);
        fs::create_directories(place_);
    }
    void TearDown() override { fs::remove_all(place_); }

    // A Python whose pip does what `body` says with its last arguments.
    Python with_pip(const std::string& body) const {
        const fs::path program = place_ / "python";
        std::ofstream(program) << "#!/bin/sh\n[ \"$1\" = -c ] && echo 3.11.2 && exit 0\n" << body << "\n";
        fs::permissions(program, fs::perms::owner_all);
        return {program, "2.11.0", "a test"};
    }

    fs::path whole() const { return cache_.directory_of(pin, known.at(pin)); }

    fs::path place_ = fs::path(testing::TempDir()) / fmt::format("release_cache_{}", ::getpid());
    ReleaseCache cache_{place_ / "cache"};
};

constexpr const char* installs =
    "while [ $# -gt 0 ]; do [ \"$1\" = --target ] && t=$2; shift; done\n"
    "mkdir -p \"$t\" && echo 1 > \"$t/module.py\"";

TEST_F(ReleaseCacheTest, HasWhatWasInstalledWhole) {
    EXPECT_FALSE(cache_.has(pin, known.at(pin)));
    const auto missing = cache_.find(pin, known);
    ASSERT_FALSE(missing);
    EXPECT_THAT(missing.error().text(), HasSubstr("deadrank report releases --prepare all"));
    const auto made = cache_.prepare({pin}, known, with_pip(installs), silent);
    ASSERT_TRUE(made) << made.error().text();
    EXPECT_TRUE(fs::exists(*cache_.find(pin, known) / "module.py"));
}

TEST_F(ReleaseCacheTest, NeverUsesWhatAKilledRunLeft) {
    fs::create_directories(whole().string() + ".part");
    std::ofstream(whole().string() + ".part/half.py") << "broken";
    EXPECT_FALSE(cache_.find(pin, known));
    ASSERT_TRUE(cache_.prepare({pin}, known, with_pip(installs), silent));
    EXPECT_FALSE(fs::exists(whole() / "half.py"));
    EXPECT_FALSE(fs::exists(whole().string() + ".part"));
}

TEST_F(ReleaseCacheTest, LeavesNothingBehindWhereTheIndexHasItNoMore) {
    const auto gone = cache_.prepare(
        {pin}, known,
        with_pip("echo 'ERROR: No matching distribution found for some-package==1.0' >&2; exit 1"), silent);
    ASSERT_FALSE(gone);
    EXPECT_THAT(gone.error().what, HasSubstr("the index has some-package==1.0 no more"));
    EXPECT_FALSE(fs::exists(whole()));
    EXPECT_FALSE(fs::exists(whole().string() + ".part"));
}

TEST_F(ReleaseCacheTest, SaysThatThereIsNoRoomBeforeItFetches) {
    Pins huge = known;
    huge.at(pin).bytes = std::int64_t{1} << 60;
    const auto full = cache_.prepare({pin}, huge, with_pip("touch \"$0.asked\""), silent);
    ASSERT_FALSE(full);
    EXPECT_THAT(full.error().what, HasSubstr("of releases do not fit"));
    EXPECT_FALSE(fs::exists(place_ / "python.asked"));
}

TEST_F(ReleaseCacheTest, WaitsForWhoeverPreparesAlready) {
    fs::create_directories(cache_.place());
    std::string said;
    std::atomic<bool> stop = false;
    auto first = Turn::take(cache_.place(), silent, nullptr);
    ASSERT_TRUE(first);
    std::thread impatient([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        stop = true;
    });
    const auto second = cache_.prepare(
        {pin}, known, with_pip(installs), [&](const std::string& line) { said = line; }, &stop);
    impatient.join();
    EXPECT_FALSE(second);
    EXPECT_EQ(said, "another deadrank prepares releases here; waiting for it");
}

TEST_F(ReleaseCacheTest, SaysThatItsPlaceCannotBeWritten) {
    std::ofstream(place_ / "cache") << "a file where a directory should be";
    const auto refused = cache_.prepare({pin}, known, with_pip(installs), silent);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().text(), HasSubstr("XDG_CACHE_HOME"));
}

}  // namespace
}  // namespace deadrank::runners
