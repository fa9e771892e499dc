// Goal: whenever a job or an undo is killed, at whichever system call, the files of its user come back bit
// for bit, whatever the job had renamed, linked, exchanged, cut or removed by then.
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <sys/stat.h>
#include <unistd.h>

#include "runners/undo/kept_files.h"
#include "tests/support/shell.h"

namespace deadrank::runners {
namespace {

namespace fs = std::filesystem;

const std::string shims = DEADRANK_BINARY_DIRECTORY "/shims",
                  programs = DEADRANK_BINARY_DIRECTORY "/tests/shims";

void write(const fs::path& file, const std::string& text) { std::ofstream(file) << text; }

// Of every name what it stands for: content, time and mode, or where it leads.
std::map<std::string, std::string> tree(const fs::path& directory) {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
        struct stat seen {};
        ::lstat(entry.path().c_str(), &seen);
        std::string& what = all[fs::relative(entry.path(), directory).string()];
        if (entry.is_symlink()) {
            what = "leads to " + fs::read_symlink(entry.path()).string();
        } else if (entry.is_directory()) {
            what = "directory";
        } else {
            std::ifstream in(entry.path());
            const std::string text{std::istreambuf_iterator<char>(in), {}};
            what = fmt::format("{:o} {}.{} {} {}", seen.st_mode, seen.st_mtim.tv_sec, seen.st_mtim.tv_nsec,
                               seen.st_nlink, text);
        }
    }
    return all;
}

class SlowKeptAtEveryCall : public testing::Test {
protected:
    void SetUp() override {
        if (!fs::exists(shims + "/libdeadrank-files.so")) GTEST_SKIP() << "this build has no shims";
        if (tests::shell("strace -o /dev/null true").code != 0) GTEST_SKIP() << "strace may not trace here";
        fs::create_directories(run_ / "evidence");
        write(run_ / "plan.json", R"({"faults": [{"fault": 0, "ranks": [1], "pulls": [
            {"lever": "change_storage", "what": "flip", "path": "/last.pt", "amount": 8}]}]})");
        make_theirs();
    }
    void TearDown() override { fs::remove_all(place_); }

    void make_theirs() {
        fs::remove_all(theirs_);
        fs::create_directories(theirs_ / "step1");
        for (const char* name : {"last.pt", "best.pt", "step1/model.pt", "log.txt"})
            write(theirs_ / name, fmt::format("{} before any run", name));
        fs::create_hard_link(theirs_ / "best.pt", theirs_ / "twin.pt");
        fs::create_symlink("step1", theirs_ / "latest");
        before_ = tree(theirs_);
    }

    // Its exit code; -1 where it was killed before its call number `killed_at`.
    int save(int killed_at) {
        EXPECT_TRUE(begin_keeping(kept_));
        const std::string environment = fmt::format(
            "-E LD_PRELOAD={}/libdeadrank-files.so -E DEADRANK_KEPT={} -E DEADRANK_RANK=1 "
            "-E DEADRANK_EVIDENCE={} -E DEADRANK_PLAN={}",
            shims, kept_.string(), (run_ / "evidence").string(), (run_ / "plan.json").string());
        const auto answer = tests::shell(
            fmt::format("strace -o /dev/null -e inject=all:signal=KILL:when={} {} {}/saver {}; exit $?",
                        killed_at, environment, programs, theirs_.string()));
        return answer.code == 128 + 9 || answer.code < 0 ? -1 : answer.code;
    }

    const fs::path place_ = fs::path(testing::TempDir()) / fmt::format("every-call-{}", getpid());
    const fs::path theirs_ = place_ / "theirs", run_ = place_ / "run", kept_ = place_ / "1-1.kept";
    std::map<std::string, std::string> before_;
};

constexpr int never = 1'000'000;

TEST_F(SlowKeptAtEveryCall, OfTheJobEverythingComesBack) {
    int at = 0, code = -1, changed = 0;
    for (; code < 0; ++at) {
        code = save(at + 1);
        changed += tree(theirs_) != before_;
        const GivenBack given = give_back(kept_);
        ASSERT_TRUE(given.whole) << "killed at call " << at + 1 << ": " << given.says;
        ASSERT_EQ(tree(theirs_), before_) << "killed at call " << at + 1 << ": " << given.says;
        ASSERT_TRUE(given.told.empty()) << given.says;
        ASSERT_FALSE(fs::exists(kept_));
        ASSERT_LT(at, 2000);
    }
    EXPECT_EQ(code, 0) << "the program did not come to its end";
    EXPECT_GT(changed, 100) << "of " << at << " calls";
    RecordProperty("calls", at);
}

}  // namespace
}  // namespace deadrank::runners
