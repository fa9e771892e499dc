// tests/runners/backends/process/kept_files_test.cpp — Goal: a stranger's file that was damaged becomes what
// it was, once; what was written anew since then is left alone.
#include "runners/backends/process/kept_files.h"

#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>

#include "runners/backends/process/deeds.h"

namespace deadrank::runners {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class KeptFiles : public testing::Test {
protected:
    void SetUp() override { fs::create_directories(kept_); }
    void TearDown() override { fs::remove_all(directory_); }

    static void write(const fs::path& file, const std::string& text) { std::ofstream(file) << text; }
    static std::string read(const fs::path& file) {
        std::ifstream in(file);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    void note(const fs::path& file, const std::string& backup, const std::string& left = {}) {
        std::ofstream(kept_ / "7.jsonl", std::ios::app)
            << fmt::format(R"({{"path": "{}", "backup": "{}"{}}})"
                           "\n",
                           file.string(), (kept_ / backup).string(), left);
    }
    static std::string state_of(const fs::path& file) {
        struct stat now {};
        if (stat(file.c_str(), &now) != 0) return R"(, "size": -1, "written": -1)";
        return fmt::format(R"(, "size": {}, "written": {})", now.st_size,
                           std::int64_t{now.st_mtim.tv_sec} * 1'000'000'000 + now.st_mtim.tv_nsec);
    }
    // As the hook does it.
    void damage(const fs::path& file, const std::string& backup, const std::string& text) {
        fs::copy_file(file, kept_ / backup);
        note(file, backup);
        if (text.empty()) fs::remove(file);
        if (!text.empty()) write(file, text);
        note(file, backup, state_of(file));
    }
    Undone undo() { return revert({Deed::Undo::restore_kept, kept_.string()}); }

    const fs::path directory_ = fs::path(testing::TempDir()) / fmt::format("kept-{}", getpid());
    const fs::path kept_ = directory_ / "kept", file_ = directory_ / "rank1.pt";
};

TEST_F(KeptFiles, BecomeWhatTheyWereAndOnlyOnce) {
    write(file_, "whole");
    damage(file_, "1", "torn");
    damage(file_, "2", "");
    EXPECT_FALSE(fs::exists(file_));
    const Undone undone = undo();
    EXPECT_TRUE(undone.done) << undone.says;
    EXPECT_EQ(read(file_), "whole");
    write(file_, "anew");
    EXPECT_TRUE(undo().done);
    EXPECT_EQ(read(file_), "anew");
}

TEST_F(KeptFiles, OfOneDamageIsRestored) {
    write(file_, "whole");
    damage(file_, "1", "wh0le");
    EXPECT_THAT(undo().says, HasSubstr("restored 1 damaged file"));
    EXPECT_EQ(read(file_), "whole");
}

TEST_F(KeptFiles, WrittenAnewAreLeftAlone) {
    write(file_, "whole");
    damage(file_, "1", "torn");
    write(file_, "a newer checkpoint");
    EXPECT_THAT(undo().says, HasSubstr("1 written anew"));
    EXPECT_EQ(read(file_), "a newer checkpoint");
}

TEST_F(KeptFiles, OfAKillInTheMiddleAreRestored) {
    write(file_, "whole");
    fs::copy_file(file_, kept_ / "1");
    note(file_, "1");
    write(file_, "wh");
    EXPECT_TRUE(undo().done);
    EXPECT_EQ(read(file_), "whole");
}

TEST_F(KeptFiles, ThatNobodyListedAreNoTrouble) { EXPECT_TRUE(undo().done); }

}  // namespace
}  // namespace deadrank::runners
