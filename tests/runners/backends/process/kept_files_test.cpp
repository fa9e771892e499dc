// tests/runners/backends/process/kept_files_test.cpp — Goal: a stranger's file that a job changed becomes
// what it was, once, and its digest is compared; what was written anew since then is left alone, and nothing
// is lost unsaid.
#include "runners/backends/process/kept_files.h"

#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>

#include "inject/core/kept.h"

namespace deadrank::runners {
namespace {

namespace fs = std::filesystem;
using inject::Kept;
using testing::HasSubstr;
using What = Kept::What;

class KeptFiles : public testing::Test {
protected:
    void SetUp() override {
        ASSERT_TRUE(begin_keeping(kept_));
        write(file_, "whole");
    }
    void TearDown() override { fs::remove_all(directory_); }

    static void write(const fs::path& file, const std::string& text) { std::ofstream(file) << text; }
    static std::string read(const fs::path& file) {
        std::ifstream in(file);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    void list(const Kept& kept) { std::ofstream(kept_ / "list", std::ios::app) << inject::line_of(kept); }
    // As the library in a job does it.
    void keep(const fs::path& file, const std::string& copy) {
        struct stat seen {};
        ::lstat(file.c_str(), &seen);
        Kept kept{.what = What::file, .path = file.string(), .copy = copy};
        kept.mode = seen.st_mode & 07777;
        kept.written = std::int64_t{seen.st_mtim.tv_sec} * 1'000'000'000 + seen.st_mtim.tv_nsec;
        kept.device = seen.st_dev;
        kept.inode = seen.st_ino;
        const int from = ::open(file.c_str(), O_RDONLY),
                  to = ::open((kept_ / copy).c_str(), O_RDWR | O_CREAT, 0600);
        EXPECT_EQ(inject::copy_content(from, to, kept.digest), 0);
        ::close(from);
        ::close(to);
        list(kept);
    }
    void job_was_last_seen(std::chrono::seconds ago) {
        const auto then = std::chrono::system_clock::now() - ago;
        const std::int64_t count = std::chrono::nanoseconds(then.time_since_epoch()).count();
        std::ofstream(kept_ / "alive", std::ios::binary)
            .write(reinterpret_cast<const char*>(&count), sizeof count);
    }

    const fs::path directory_ = fs::path(testing::TempDir()) / fmt::format("kept-{}", getpid());
    const fs::path kept_ = directory_ / "7-1.kept", file_ = directory_ / "rank1.pt";
};

TEST_F(KeptFiles, BecomeWhatTheyWereAndOnlyOnce) {
    const auto written = fs::last_write_time(file_);
    keep(file_, "1");
    write(file_, "torn");
    keep(file_, "2");  // the first line of a path counts
    fs::rename(file_, directory_ / "elsewhere.pt");
    const RestoreResult given = give_back(kept_);
    EXPECT_TRUE(given.whole) << given.says;
    EXPECT_THAT(given.says, HasSubstr("restored 1 file"));
    EXPECT_EQ(read(file_), "whole");
    EXPECT_EQ(fs::last_write_time(file_), written);
    EXPECT_FALSE(fs::exists(kept_));
    write(file_, "anew");
    EXPECT_TRUE(give_back(kept_).whole);
    EXPECT_EQ(read(file_), "anew");
}

TEST_F(KeptFiles, ThatWereNotThereGoAndDirectoriesWithThem) {
    const fs::path made = directory_ / "step2";
    list({.what = What::absent, .path = made.string()});
    list({.what = What::absent, .path = (made / "model pt%\n").string()});
    fs::create_directories(made);
    write(made / "model pt%\n", "of the job");
    const RestoreResult given = give_back(kept_);
    EXPECT_TRUE(given.whole) << given.says;
    EXPECT_FALSE(fs::exists(made)) << given.says;
}

TEST_F(KeptFiles, WrittenAnewAreLeftAloneAndTheOldContentIsKept) {
    keep(file_, "1");
    list({.what = What::absent, .path = (directory_ / "new.pt").string()});
    job_was_last_seen(std::chrono::seconds(60));
    write(file_, "a newer checkpoint");
    write(directory_ / "new.pt", "another");
    const RestoreResult given = give_back(kept_);
    EXPECT_TRUE(given.whole);
    EXPECT_THAT(given.says, HasSubstr("rank1.pt was written after the run had ended, and is left alone"));
    EXPECT_THAT(given.says, HasSubstr((kept_ / "1").string()));
    EXPECT_EQ(read(file_), "a newer checkpoint");
    EXPECT_EQ(read(directory_ / "new.pt"), "another");
    EXPECT_EQ(read(kept_ / "1"), "whole");
}

// A kill in the middle of a restoring, long after the job itself.
TEST_F(KeptFiles, OfAnUndoThatWasKilledAreRestoredByTheNext) {
    keep(file_, "1");
    write(file_, "wh");
    job_was_last_seen(std::chrono::seconds(1));
    EXPECT_TRUE(give_back(kept_).whole);
    EXPECT_EQ(read(file_), "whole");
}

TEST_F(KeptFiles, WhoseCopyIsDamagedAreNotOverwrittenWithIt) {
    keep(file_, "1");
    write(file_, "torn");
    write(kept_ / "1", "wrong");
    const RestoreResult given = give_back(kept_);
    EXPECT_FALSE(given.whole);
    EXPECT_THAT(given.says, HasSubstr("the copy has changed; its copy is " + (kept_ / "1").string()));
    EXPECT_EQ(read(file_), "torn");
    EXPECT_TRUE(fs::exists(kept_ / "list")) << "the next undo may try again";
}

TEST_F(KeptFiles, OfWhichThereNeverWasACopyAreTold) {
    list({.what = What::unkept, .path = file_.string(), .copy = "No space left on device"});
    const RestoreResult given = give_back(kept_);
    EXPECT_THAT(given.lost, HasSubstr("rank1.pt could not be copied before it was changed: No space"));
}

TEST_F(KeptFiles, StandUnderAllTheirNames) {
    fs::create_hard_link(file_, directory_ / "twin.pt");
    keep(file_, "1");
    write(file_, "torn");
    EXPECT_TRUE(give_back(kept_).whole);
    EXPECT_EQ(read(directory_ / "twin.pt"), "whole");
    EXPECT_TRUE(fs::equivalent(file_, directory_ / "twin.pt"));
}

TEST_F(KeptFiles, ThatNobodyListedAreNoTrouble) {
    EXPECT_TRUE(give_back(kept_).whole);
    EXPECT_TRUE(give_back(directory_ / "gone.kept").whole);
}

TEST_F(KeptFiles, AreOnlyThoseOfADirectoryOfOurs) {
    EXPECT_TRUE(give_back(directory_).whole);
    EXPECT_TRUE(fs::exists(file_));
}

// 256 GiB, of which a few bytes are there: reading all of it would take minutes.
TEST(KeptContent, PassesOverLongHoles) {
    const std::string file = testing::TempDir() + "sparse", copy = file + ".copy";
    const auto digest_with = [&](off_t at, char what) {
        const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
        EXPECT_EQ(::ftruncate(descriptor, off_t{256} << 30), 0);
        EXPECT_EQ(::pwrite(descriptor, &what, 1, at), 1);
        const std::string digest = inject::digest_of(descriptor);
        ::close(descriptor);
        return digest;
    };
    const std::string one = digest_with(off_t{1} << 37, 'a');
    EXPECT_EQ(one, digest_with(off_t{1} << 37, 'a'));
    EXPECT_NE(one, digest_with(off_t{1} << 37, 'b'));
    EXPECT_NE(one, digest_with(off_t{1} << 36, 'a'));
    const int from = ::open(file.c_str(), O_RDONLY),
              to = ::open(copy.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    std::string copied;
    EXPECT_EQ(inject::copy_content(from, to, copied), 0);
    EXPECT_EQ(std::filesystem::file_size(copy), std::uintmax_t{256} << 30);
    EXPECT_EQ(copied, inject::digest_of(to));
    ::close(from);
    ::close(to);
    std::filesystem::remove(file);
    std::filesystem::remove(copy);
}

}  // namespace
}  // namespace deadrank::runners
