// tests/results/processes/private_directory_test.cpp — No other user can read, foresee or have made a
// temporary directory of ours.
#include "results/processes/private_directory.h"

#include <fstream>
#include <gmock/gmock.h>
#include <sys/stat.h>

namespace deadrank::results::processes {
namespace {

namespace fs = std::filesystem;

int mode_of(const fs::path& directory) {
    struct stat there {};
    return lstat(directory.c_str(), &there) == 0 ? static_cast<int>(there.st_mode & 07777) : -1;
}

TEST(PrivateDirectory, IsOfThisUserAloneAndEachHasAnotherName) {
    const mode_t before = umask(0);
    auto one = PrivateDirectory::make(), other = PrivateDirectory::make();
    umask(before);
    ASSERT_TRUE(one && other);
    EXPECT_EQ(mode_of(one->path()), 0700);
    EXPECT_NE(one->path(), other->path());
    EXPECT_EQ(one->path().filename().string().find(std::to_string(getpid())), std::string::npos);
    const fs::path path = one->path();
    std::ofstream(path / "file") << "x";
    { const PrivateDirectory gone = std::move(*one); }
    EXPECT_FALSE(fs::exists(path));
}

TEST(PrivateDirectory, IsToldBeforeItIsMadeAndNotMadeWhereThatFails) {
    fs::path told;
    const auto made = make_private_directory(testing::TempDir(), [&](const fs::path& name) {
        told = name;
        EXPECT_FALSE(fs::exists(name));
        return scenarios::Result<void>(scenarios::refuse(scenarios::ErrorCode::io, "the journal is full"));
    });
    EXPECT_FALSE(made);
    EXPECT_FALSE(told.empty());
    EXPECT_FALSE(fs::exists(told));
}

class SharedDirectory : public testing::Test {
protected:
    void SetUp() override { ASSERT_TRUE(parent_); }

    scenarios::Result<PrivateDirectory> parent_ = PrivateDirectory::make();
    const fs::path place_ = parent_->path() / "agreed";
};

TEST_F(SharedDirectory, IsMadeByTheFirstAndTakenByTheNext) {
    ASSERT_TRUE(share_private_directory(place_));
    EXPECT_EQ(mode_of(place_), 0700);
    EXPECT_TRUE(share_private_directory(place_));
}

TEST_F(SharedDirectory, IsRefusedWhereOthersMayEnter) {
    fs::create_directory(place_);
    ASSERT_EQ(chmod(place_.c_str(), 0755), 0);
    const auto shared = share_private_directory(place_);
    ASSERT_FALSE(shared);
    EXPECT_THAT(shared.error().what, testing::HasSubstr("other users may enter it"));
}

TEST_F(SharedDirectory, IsRefusedWhereALinkWasLaid) {
    fs::create_directory(parent_->path() / "elsewhere");
    fs::create_directory_symlink(parent_->path() / "elsewhere", place_);
    EXPECT_FALSE(share_private_directory(place_));
}

TEST_F(SharedDirectory, IsRefusedWhereAnotherUserMadeIt) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can make a directory of another user";
    fs::create_directory(place_);
    ASSERT_EQ(chmod(place_.c_str(), 0700), 0);
    ASSERT_EQ(chown(place_.c_str(), 65534, 65534), 0);
    const auto shared = share_private_directory(place_);
    ASSERT_FALSE(shared);
    EXPECT_THAT(shared.error().what, testing::HasSubstr("another user has made it"));
}

}  // namespace
}  // namespace deadrank::results::processes
