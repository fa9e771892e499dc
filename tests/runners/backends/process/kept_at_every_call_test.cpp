// Goal: whenever a job or an undo is killed, at whichever system call, the files of its user come back bit
// for bit, whatever the job had renamed, linked, exchanged, cut or removed by then.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "runners/backends/process/kept_files.h"
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
            std::string text{std::istreambuf_iterator<char>(in), {}};
            if (text.size() > 40)
                text = fmt::format("{:.20}… digest {:x}", text, std::hash<std::string>{}(text));
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
        for (const char* name : {"last.pt", "best.pt", "step1/model.pt", "log.txt", "config.txt"})
            write(theirs_ / name, fmt::format("{} before any run", name));
        fs::create_hard_link(theirs_ / "best.pt", theirs_ / "twin.pt");
        fs::create_symlink("step1", theirs_ / "latest");
        before_ = tree(theirs_);
    }

    // One call of a program: the third rename, say. strace counts each kind of call by itself.
    struct Call {
        std::string name;
        int nth = 0;
        std::string text() const { return fmt::format("{} {}", name, nth); }
    };
    static std::string strace(const Call& killed_at) {
        if (killed_at.nth == 0) return "strace -f -o trace.txt";
        return fmt::format("strace -f -o /dev/null -e trace={0} -e inject={0}:signal=KILL:when={1}",
                           killed_at.name, killed_at.nth);
    }
    // Of the run before, which was traced: each process's calls of each kind, from `first` on.
    std::vector<Call> calls(const std::string& first, const std::string& kinds = "") const {
        std::map<std::pair<std::string, std::string>, int> seen;  // by process and kind
        std::map<std::string, int> before, most;
        std::ifstream in(place_ / "trace.txt");
        bool begun = first.empty();
        for (std::string line; std::getline(in, line);) {
            const std::size_t space = line.find_first_not_of(' ', line.find(' ')), open = line.find('(');
            if (open == std::string::npos || space > open) continue;
            const std::string name = line.substr(space, open - space);
            if (name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") != std::string::npos)
                continue;
            begun = begun || name == first;
            if (!kinds.empty() && ("," + kinds + ",").find("," + name + ",") == std::string::npos) continue;
            const int count = ++seen[{line.substr(0, line.find(' ')), name}];
            if (!begun) before[name] = count;
            most[name] = std::max(most[name], count);
        }
        std::vector<Call> all;
        for (const auto& [name, count] : most) {
            for (int nth = before[name] + 1; nth <= count; ++nth) all.push_back({name, nth});
        }
        return all;
    }

    int save(const Call& killed_at) {
        EXPECT_TRUE(begin_keeping(kept_));
        fs::remove_all(run_ / "truth");  // so that each run does the same
        const std::string environment = fmt::format(
            "-E LD_PRELOAD={}/libdeadrank-files.so -E DEADRANK_KEPT={} -E DEADRANK_RANK=1 "
            "-E DEADRANK_EVIDENCE={} -E DEADRANK_PLAN={}",
            shims, kept_.string(), (run_ / "evidence").string(), (run_ / "plan.json").string());
        return tests::shell(fmt::format("cd {}; {} {} {}/saver {}; exit $?", place_.string(),
                                        strace(killed_at), environment, programs, theirs_.string()))
            .code;
    }

    // A command of deadrank's; nothing of this machine's state is used.
    int deadrank(const std::string& words, const std::string& tracer = "") const {
        return tests::shell(fmt::format("cd {0}; export DEADRANK_STATE={0}/state TMPDIR={0}/tmp HOME={0} "
                                        "XDG_CACHE_HOME={0}/cache PATH=/usr/bin:/bin "
                                        "DEADRANK_PYTHON=/bin/false; {1} {2}/deadrank {3}; "
                                        "exit $?",
                                        place_.string(), tracer, DEADRANK_BINARY_DIRECTORY, words))
            .code;
    }
    void expect_as_before(const Call& at) const {
        ASSERT_EQ(deadrank("undo >undo.txt"), 0) << "killed at " << at.text();
        std::ifstream in(place_ / "undo.txt");
        const std::string said{std::istreambuf_iterator<char>(in), {}};
        ASSERT_EQ(tree(theirs_), before_) << "killed at " << at.text() << ": " << said;
        ASSERT_TRUE(fs::is_empty(place_ / "tmp")) << "killed at " << at.text() << ": " << said;
        ASSERT_TRUE(fs::is_empty(place_ / "state/undo")) << "killed at " << at.text() << ": " << said;
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
    ASSERT_EQ(save({}), 0);
    ASSERT_NE(tree(theirs_), before_);
    ASSERT_TRUE(give_back(kept_).whole);
    ASSERT_EQ(tree(theirs_), before_);
    int changed = 0;
    const std::vector<Call> all = calls("chdir");
    for (const Call& at : all) {
        EXPECT_NE(save(at), 0) << at.text();
        changed += tree(theirs_) != before_;
        const RestoreResult given = give_back(kept_);
        ASSERT_TRUE(given.whole) << "killed at " << at.text() << ": " << given.says;
        ASSERT_EQ(tree(theirs_), before_) << "killed at " << at.text() << ": " << given.says;
        ASSERT_TRUE(given.told.empty()) << given.says;
        ASSERT_FALSE(fs::exists(kept_));
    }
    EXPECT_GT(changed, 100) << "of " << all.size() << " calls";
    RecordProperty("calls", static_cast<int>(all.size()));
}

TEST_F(SlowKeptAtEveryCall, OfTheUndoEverythingComesBack) {
    fs::create_directories(place_ / "tmp");
    fs::create_directories(place_ / "state/undo");
    int died = 0;
    const auto undo = [this, &died](const Call& killed_at) {
        ASSERT_EQ(save({}), 0);
        write(
            place_ / "state/undo/1-0.jsonl",
            fmt::format("{{\"owner\": \"1 1\"}}\n{{\"n\": 1, \"undo\": \"restore_kept\", \"of\": \"{}\"}}\n",
                        kept_.string()));
        ASSERT_NE(tree(theirs_), before_);
        died += deadrank("undo >/dev/null", strace(killed_at)) != 0;
    };
    undo({});
    ASSERT_EQ(died, 0);
    const std::vector<Call> all = calls("", changing);
    expect_as_before({});
    for (const Call& at : all) {
        undo(at);
        expect_as_before(at);
        ASSERT_FALSE(fs::exists(kept_)) << "killed at " << at.text();
    }
    // A file is written over or replaced as its inode is the old one or not, and the file system may give a
    // new file the inode of one just removed: an undo then makes one call of a kind less than the traced one.
    EXPECT_GT(died, 40) << "of " << all.size() << " calls";
    EXPECT_GE(died * 10, static_cast<int>(all.size()) * 9);
    RecordProperty("calls", static_cast<int>(all.size()));
}

// The whole way: journals, the run's directory, the job, and what is given back at the end.
TEST_F(SlowKeptAtEveryCall, OfTheHarnessAndItsJobEverythingComesBack) {
    fs::create_directories(place_ / "tmp");
    const std::string words = fmt::format(
        "run communication/dead_process_seen_as_timeout --runner local --ranks 2 --no-control --no-heal -- "
        "{}/saver {} >run.txt 2>&1",
        programs, theirs_.string());
    ASSERT_EQ(deadrank(words, strace({})), 2) << "no fault finds its moment in such a job";
    const std::vector<Call> all = calls("", changing);
    ASSERT_EQ(tree(theirs_), before_) << "it did not even give back what it could";
    int changed = 0;
    for (const Call& at : all) {
        deadrank(words, strace(at));
        changed += tree(theirs_) != before_;
        expect_as_before(at);
        if (HasFatalFailure()) return;
    }
    EXPECT_GT(changed, 20) << "of " << all.size() << " calls";
    RecordProperty("calls", static_cast<int>(all.size()));
}

}  // namespace
}  // namespace deadrank::runners
