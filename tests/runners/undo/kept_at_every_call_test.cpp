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

    // A command of deadrank's, killed before its own call number `killed_at` among those that change
    // something, as each process is that it starts. Nothing of this machine's state is used.
    int deadrank(const std::string& words, int killed_at = 0) const {
        const std::string strace =
            killed_at > 0
                ? fmt::format("strace -f -o /dev/null -e inject={}:signal=KILL:when={} ", changing, killed_at)
                : "";
        return tests::shell(
                   fmt::format("cd {0}; export DEADRANK_STATE={0}/state TMPDIR={0}/tmp HOME={0} "
                               "XDG_CACHE_HOME={0} DEADRANK_PYTHON=/bin/false; {1}{2}/deadrank {3}; exit $?",
                               place_.string(), strace, DEADRANK_BINARY_DIRECTORY, words))
            .code;
    }
    void expect_as_before(int at) const {
        ASSERT_EQ(deadrank("undo >undo.txt"), 0) << "killed at call " << at;
        std::ifstream in(place_ / "undo.txt");
        const std::string said{std::istreambuf_iterator<char>(in), {}};
        ASSERT_EQ(tree(theirs_), before_) << "killed at call " << at << ": " << said;
        ASSERT_TRUE(fs::is_empty(place_ / "tmp")) << "killed at call " << at << ": " << said;
        for (const auto& entry : fs::directory_iterator(place_ / "state/undo"))
            ADD_FAILURE() << "killed at call " << at << ", left " << entry.path();
    }

    static constexpr const char* changing =
        "write,pwrite64,ftruncate,fdatasync,fsync,rename,renameat,renameat2,link,linkat,symlink,unlink,"
        "unlinkat,"
        "mkdir,mkdirat,rmdir,chmod,fchmod,fchmodat,utimensat";

    const fs::path place_ = fs::path(testing::TempDir()) / fmt::format("every-call-{}", getpid());
    const fs::path theirs_ = place_ / "theirs", run_ = place_ / "run", kept_ = place_ / "1-1.kept";
    std::map<std::string, std::string> before_;
};

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

TEST_F(SlowKeptAtEveryCall, OfTheUndoEverythingComesBack) {
    fs::create_directories(place_ / "tmp");
    int at = 0, code = -1;
    for (; code != 0; ++at) {
        ASSERT_EQ(save(100'000), 0);
        fs::create_directories(place_ / "state/undo");
        write(
            place_ / "state/undo/1-0.jsonl",
            fmt::format("{{\"owner\": \"1 1\"}}\n{{\"n\": 1, \"undo\": \"restore_kept\", \"of\": \"{}\"}}\n",
                        kept_.string()));
        ASSERT_NE(tree(theirs_), before_);
        code = deadrank("undo >/dev/null", at + 1);
        expect_as_before(at + 1);
        ASSERT_FALSE(fs::exists(kept_)) << "killed at call " << at + 1;
        ASSERT_LT(at, 1000);
    }
    EXPECT_GT(at, 20);
    RecordProperty("calls", at);
}

// The whole way: journals, the run's directory, the job, and what is given back at the end.
TEST_F(SlowKeptAtEveryCall, OfTheHarnessAndItsJobEverythingComesBack) {
    fs::create_directories(place_ / "tmp");
    const std::string words = fmt::format(
        "run communication/dead_process_seen_as_timeout --runner local --ranks 2 --no-control --no-heal -- "
        "{}/saver {} "
        ">run.txt 2>&1",
        programs, theirs_.string());
    ASSERT_EQ(deadrank(words), 2) << "no fault finds its moment in such a job";
    ASSERT_EQ(tree(theirs_), before_) << "it did not even give back what it could";
    int at = 0, changed = 0;
    for (int code = -1; code != 2; ++at) {
        code = deadrank(words, at + 1);
        changed += tree(theirs_) != before_;
        expect_as_before(at + 1);
        ASSERT_LT(at, 2000);
    }
    EXPECT_GT(changed, 20) << "of " << at << " calls";
    RecordProperty("calls", at);
}

}  // namespace
}  // namespace deadrank::runners
