// Goal: what a plan does to the files of a program that knows of nothing is what its calls answer and what
// lies on the disk afterwards; our own files, and those that the plan does not mean, are left alone.
#include <chrono>
#include <fstream>
#include <gmock/gmock.h>

#include "tests/inject/shims/shim_run.h"

namespace deadrank::tests {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class DeviceFileShim : public testing::Test {
protected:
    void SetUp() override {
        if (const std::string why = no_shims(); !why.empty()) GTEST_SKIP() << why;
        run.environment["LD_PRELOAD"] = shim_directory + "/libdeadrank-files.so";
    }
    // The words' calls on one file of the program's.
    void use(const std::string& words, const std::string& name = "state.pt") {
        const std::string path = (run.directory / name).string();
        answer = run.start(program_directory + "/file_user " + path + " " + words);
        std::ifstream in(path);
        content.assign(std::istreambuf_iterator<char>(in), {});
    }
    void damage(json pull, json when = json::object()) {
        pull["lever"] = "change_storage";
        if (!pull.contains("path")) pull["path"] = "/state";
        run.fault(std::move(when), std::move(pull));
    }
    void expect_truth() {
        ASSERT_EQ(run.truth().size(), 1u);
        EXPECT_EQ(run.truth().front()["kind"], "fault.applied");
    }

    ShimRun run;
    Answer answer;
    std::string content;
};

const std::string alphabet = "abcdefghijklmnopqrstuvwxyz";

TEST_F(DeviceFileShim, WritesLessThanItWasGivenOnce) {
    damage({{"what", "short"}, {"amount", 5}});
    use("write:26 write:26");
    EXPECT_THAT(answer.out, HasSubstr("write 5 \nwrite 26 \n"));
    EXPECT_EQ(content, "abcde" + alphabet);
    expect_truth();
}

TEST_F(DeviceFileShim, FillsUpForSystemCallsAndForStreams) {
    damage({{"what", "full"}, {"amount", 40}});
    use("write:26 write:26 write:26");
    EXPECT_THAT(answer.out, HasSubstr("write 26 \nwrite 14 \nwrite -1 No space left on device"));
    EXPECT_EQ(content.size(), 40u);
    damage({{"what", "full"}, {"amount", 100}});
    use("stream:9000");
    EXPECT_THAT(answer.out, HasSubstr("stream -1 No space left on device"));
}

TEST_F(DeviceFileShim, FailsFromTheSecondWriteOnOrWhenItIsFlushed) {
    damage({{"what", "io_error"}}, {{"before", "write"}, {"nth", 2}});
    use("write:26 write:26 sync");
    EXPECT_THAT(answer.out, HasSubstr("write 26 \nwrite -1 Input/output error\nsync -1 Input/output error"));
    damage({{"what", "io_error"}}, {{"before", "sync"}});
    use("write:1 sync");
    EXPECT_THAT(answer.out, HasSubstr("write 1 \nsync -1 Input/output error"));
}

TEST_F(DeviceFileShim, IsReadOnly) {
    std::ofstream(run.directory / "state.pt") << alphabet;
    damage({{"what", "read_only"}});
    use("write:26 read:26 replace:3");
    EXPECT_THAT(answer.out, HasSubstr("open -1 Read-only file system\nread 26"));
    EXPECT_THAT(answer.out, HasSubstr("replace -1 Read-only file system"));
    EXPECT_EQ(content, alphabet);
}

TEST_F(DeviceFileShim, KeepsTheBeginningAndSaysThatAllIsWell) {
    damage({{"what", "tear"}, {"amount", 30}});
    use("write:26 write:26 writev:10");
    EXPECT_THAT(answer.out, HasSubstr("write 26 \nwrite 26 \nwritev 10 \n"));
    EXPECT_EQ(content, alphabet + "abcd");
    expect_truth();
}

TEST_F(DeviceFileShim, LosesAWriteOfAStream) {
    damage({{"what", "lose"}});
    use("stream:26");
    EXPECT_THAT(answer.out, HasSubstr("stream 26 \nsize 0"));
}

TEST_F(DeviceFileShim, DamagesWhatIsWrittenBesideAndRenamed) {
    damage({{"what", "tear"}, {"amount", 3}});
    use("replace:26");
    EXPECT_THAT(answer.out, HasSubstr("replace 0"));
    EXPECT_EQ(content, "abc");
    damage({{"what", "lose"}});
    use("replace:26");
    EXPECT_EQ(content, "abc");  // the old one is still there
    damage({{"what", "flip"}, {"amount", 8}});
    use("replace:3");
    EXPECT_EQ(content, "acc");
}

TEST_F(DeviceFileShim, BendsOneBitOfWhatIsWrittenOrOfWhatIsRead) {
    damage({{"what", "flip"}, {"amount", 8 * 20 + 1}});
    use("writev:26 write:26");  // in the second part
    EXPECT_EQ(content, "abcdefghijklmnopqrstwvwxyz" + alphabet);
    damage({{"what", "flip_read"}, {"amount", 8}});
    use("read:3 read:3");
    EXPECT_THAT(answer.out, HasSubstr("got acc\n"));
    EXPECT_THAT(answer.out, HasSubstr("got abc\n"));
}

// A factor of 5000 over 0.1 ms a call.
TEST_F(DeviceFileShim, IsSlow) {
    damage({{"what", "slow"}, {"amount", 5'000'000}}, {{"before", "write"}});
    const auto begin = std::chrono::steady_clock::now();
    use("write:26");
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(450));
    EXPECT_EQ(content, alphabet);
}

TEST_F(DeviceFileShim, DoesWhatTheHookOfItsRankSaysAndTakesItBack) {
    run.environment["DEADRANK_FILES"] = "told";
    damage({{"what", "full"}});  // then the plan is the hook's
    use("write:26 arm:1 write:26 arm write:26");
    EXPECT_THAT(answer.out, HasSubstr("arm 0 \nopen -1 Read-only file system\narm 0 \nwrite 26"));
    EXPECT_EQ(content.size(), 52u);
    EXPECT_TRUE(run.truth().empty());
}

TEST_F(DeviceFileShim, LeavesOtherFilesAloneAndSaysWhatItDoesNotKnow) {
    damage({{"what", "full"}});
    use("write:26", "other.pt");
    EXPECT_EQ(content, alphabet);
    EXPECT_TRUE(run.truth().empty());
    damage({{"what", "melt"}, {"path", ""}});
    use("write:26", "other.pt");
    ASSERT_FALSE(run.truth().empty());  // our own files are not damaged
    EXPECT_EQ(run.truth().back()["says"], "storage cannot be made 'melt' here");
}

}  // namespace
}  // namespace deadrank::tests
