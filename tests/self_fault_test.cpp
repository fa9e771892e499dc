// tests/self_fault_test.cpp — Goal: whatever this machine refuses to deadrank itself (memory, room on the
// disk, descriptors, threads, processes), no verdict changes: a small run, in which each such call fails in
// turn, says what it says without, or is unknown, or ends without any; and it leaves nothing behind.
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sstream>

#include "results/processes/private_directory.h"
#include "tests/support/shell.h"

namespace deadrank::tests {
namespace {

namespace fs = std::filesystem;

constexpr const char* library = DEADRANK_BINARY_DIRECTORY "/tests/libdeadrank-failing.so";

struct Command {
    const char* name;
    std::string line;  // of deadrank; {} is a directory of its own, KEPT that of a run
};

class SlowSelfFault : public testing::Test {
protected:
    void SetUp() override {
        if (!fs::exists(library)) GTEST_SKIP() << library << " was not built (sanitizers)";
        ASSERT_TRUE(place_);
        const Answer made =
            shell(fmt::format("{} -q --out {}/kept", program("", "run communication/rank_leaves_all_reduce"),
                              place_->path().string()));
        ASSERT_EQ(made.code, 0) << made.out;
    }

    fs::path out() const { return place_->path() / "out"; }

    Answer play(const Command& command, const std::string& kind, long at) const {
        fs::remove_all(out());
        fs::create_directories(out() / "tmp");
        std::string line = command.line;
        for (std::size_t hole = line.find("{}"); hole != std::string::npos; hole = line.find("{}"))
            line.replace(hole, 2, out().string());
        for (std::size_t hole = line.find("KEPT"); hole != std::string::npos; hole = line.find("KEPT"))
            line.replace(hole, 4, kept().string());
        return shell(program(fmt::format("TMPDIR={0}/tmp DEADRANK_STATE={0}/state DEADRANK_FAIL={1}:{2} "
                                         "DEADRANK_FAIL_COUNT={0}/count LD_PRELOAD={3}",
                                         out().string(), kind, at, library),
                             line));
    }
    // The variables are given by env, so that nothing but deadrank itself is spoilt.
    static std::string program(const std::string& variables, const std::string& line) {
        return "timeout 60 env DEADRANK_CATALOG='" DEADRANK_SOURCE_DIRECTORY "/scenarios/catalog' " +
               variables + " '" DEADRANK_BINARY_DIRECTORY "/deadrank' " + line;
    }
    fs::path kept() const { return place_->path() / "kept/communication/rank_leaves_all_reduce/1"; }
    long calls() const {
        long number = 0;
        std::ifstream(out() / "count") >> number;
        return number;
    }
    static std::vector<std::string> verdicts_in(const std::string& text) {
        std::vector<std::string> found;
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            const auto json = nlohmann::json::parse(line, nullptr, false);
            if (json.is_object() && json.contains("verdict")) found.push_back(json["verdict"]);
        }
        return found;
    }

    void sweep(const Command& command, const std::string& kind, long dense, long stride) {
        const Answer sound = play(command, kind, 0);
        const long all = calls();
        const auto verdicts = verdicts_in(sound.out);
        EXPECT_GT(all, kind == "malloc" ? 10'000 : 0) << command.name << " " << kind << "\n" << sound.out;
        int points = 0, unknown = 0, errors = 0, aborts = 0;
        for (long at = 1; at <= all; at += at < dense ? 1 : stride) {
            const Answer answer = play(command, kind, at);
            const std::string where = fmt::format("{}: {} {} of {}", command.name, kind, at, all);
            ++points;
            EXPECT_GE(answer.code, 0) << where << " ended it by a signal\n" << answer.out;
            EXPECT_NE(answer.code, 124) << where << " went on for ever";
            EXPECT_NE(answer.code, 139) << where << " was a segmentation fault\n" << answer.out;
            // Before main() and in what may not throw, the C++ library aborts: that is no verdict.
            if (answer.code == 134) {
                ++aborts;
                EXPECT_THAT(verdicts_in(answer.out), testing::Each(testing::AnyOfArray(verdicts))) << where;
                continue;
            }
            if (answer.code != sound.code) {
                EXPECT_TRUE(answer.code == 2 || answer.code == 64) << where << ": " << answer.code << "\n"
                                                                   << answer.out;
                EXPECT_FALSE(answer.out.empty()) << where << ": without a word";
                ++errors;
            }
            for (const std::string& verdict : verdicts_in(answer.out)) {
                unknown += verdict == "unknown";
                if (verdict == "unknown") continue;
                EXPECT_THAT(verdicts, testing::Contains(verdict)) << where << "\n" << answer.out;
            }
            EXPECT_TRUE(fs::is_empty(out() / "tmp")) << where << " left something behind";
        }
        fmt::print("  {:9} {:7} {:6} calls, {:4} points: {:3} unknown, {:4} errors, {} aborts\n",
                   command.name, kind, all, points, unknown, errors, aborts);
    }

    scenarios::Result<results::processes::PrivateDirectory> place_ =
        results::processes::PrivateDirectory::make();
};

// Every 1,009th of some hundred thousand allocations, and all of the first ones.
TEST_F(SlowSelfFault, ChangesNoVerdictOfARun) {
    const Command run{.name = "run",
                      .line = "run communication/rank_leaves_all_reduce --json --jobs 1 --out {}/files"};
    sweep(run, "malloc", 40, 1009);
    for (const char* kind : {"write", "open", "mmap", "thread"}) sweep(run, kind, 1000, 1);
}

TEST_F(SlowSelfFault, ChangesNoVerdictOfAReplay) {
    const Command replay{.name = "replay", .line = "replay KEPT/plan.toml --json"};
    sweep(replay, "malloc", 20, 2003);
    for (const char* kind : {"open", "thread"}) sweep(replay, kind, 1000, 1);
}

TEST_F(SlowSelfFault, ChangesNoVerdictOfACampaign) {
    const Command campaign{.name = "campaign",
                           .line =
                               "sweep campaign communication/rank_leaves_all_reduce --seeds 1..2 --jobs 1 "
                               "--json --out {}/a.sqlite"};
    sweep(campaign, "malloc", 20, 2003);
    // SQLite writes with pwrite, which no call here fails.
    for (const char* kind : {"open", "fork"}) sweep(campaign, kind, 1000, 1);
}

TEST_F(SlowSelfFault, ChangesNoDiagnosis) {
    const Command diagnose{.name = "diagnose", .line = "diagnose KEPT/evidence.jsonl"};
    sweep(diagnose, "malloc", 20, 4001);
    sweep(diagnose, "open", 1000, 1);
}

}  // namespace
}  // namespace deadrank::tests
