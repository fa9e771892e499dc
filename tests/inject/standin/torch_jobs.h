// tests/inject/standin/torch_jobs.h — Jobs of unmodified PyTorch on the stand-in, all played before the first
// test of a suite, and how each of them ended. tests/standin/torch_jobs.py has their faults.
#pragma once

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <string>
#include <unistd.h>

#include "tests/inject/standin/torch_here.h"
#include "tests/support/shell.h"

namespace deadrank::tests {

inline std::string text_of(const std::filesystem::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

// How a job ended: each rank's exit and words, the dumps, and what torchfrtrace says of them.
struct EndedJob {
    nlohmann::json all;
    int code(int rank) const { return all["ends"][std::to_string(rank)]["code"]; }
    double seconds(int rank) const { return all["ends"][std::to_string(rank)]["seconds"]; }
    std::string text(int rank) const { return all["texts"][std::to_string(rank)]; }
    std::string trace() const { return all["torchfrtrace"]; }
    std::size_t dumps() const { return all["dumps"].size(); }
    // How far a rank came, as its dump has it: sequence number, name and state of the first that is not
    // completed.
    nlohmann::json unfinished(int rank) const { return all["unfinished"]["rank_" + std::to_string(rank)]; }
};

class TorchJobs : public testing::Test {
protected:
    static inline std::filesystem::path folder;
    static inline std::string missing, broken;

    // `why_not`: empty when all is there. `also_on_path`: another torch. Without names all jobs are played.
    static void play(const std::string& why_not, const std::string& also_on_path = {},
                     const std::string& environment = {}, const std::string& names = {}) {
        missing = why_not;
        broken.clear();
        if (!missing.empty()) return;
        folder =
            std::filesystem::temp_directory_path() / ("deadrank-standin-torch-" + std::to_string(::getpid()));
        std::filesystem::create_directories(folder);
        const std::string at = standin_libraries.string();
        const Answer answer = shell(
            environment + " PYTHONPATH=" + operators.string() + ":" + also_on_path +
            " LD_LIBRARY_PATH=" + at + " LD_PRELOAD=" + at + "/libcudart.so.13:" + at +
            "/libnccl.so.2 OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1 timeout 500 " +
            python_with_torch().string() + " " + DEADRANK_SOURCE_DIRECTORY "/tests/standin/torch_jobs.py " +
            folder.string() + (names.empty() ? "" : " --jobs " + names));
        if (answer.code != 0) broken = "torch_jobs.py: " + answer.out;
    }
    static void TearDownTestSuite() {
        if (!folder.empty()) std::filesystem::remove_all(folder);
        folder.clear();
    }
    void SetUp() override {
        if (!missing.empty()) GTEST_SKIP() << missing;
        ASSERT_EQ(broken, "");
    }

    static EndedJob job(const std::string& name) {
        return {nlohmann::json::parse(text_of(folder / name / "answer.json"), nullptr, false)};
    }
    // The watchdog of this rank speaks of this call and ends its process.
    static void expect_time_out(const EndedJob& job, int rank, int sequence) {
        EXPECT_THAT(job.text(rank),
                    testing::HasSubstr("Watchdog caught collective operation timeout: WorkNCCL(SeqNum=" +
                                       std::to_string(sequence) + ","));
        EXPECT_EQ(job.code(rank), -6) << job.text(rank);
    }
};

// The torch that ./dev prepares; every job.
class DeviceTorchOnTheStandIn : public TorchJobs {
protected:
    static void SetUpTestSuite() { play(why_no_torch()); }
};

}  // namespace deadrank::tests
