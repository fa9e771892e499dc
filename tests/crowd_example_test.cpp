// tests/crowd_example_test.cpp — Goal: one odd rank among a million is a scenario that one can afford, and it
// is found.
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sim/sanitizers.h"

namespace deadrank {
namespace {

constexpr bool plain = !sim::rig::address_sanitizer && !sim::rig::thread_sanitizer;

struct Played {
    int code = -1;
    long kibibytes = 0;  // at most
    nlohmann::json verdict;
};

Played play_example(const std::string& name) {
    const std::string out = (std::filesystem::path(::testing::TempDir()) / (name + ".json")).string();
    const std::string file = DEADRANK_SOURCE_DIRECTORY "/sim/examples/" + name + ".toml";
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
        ::execl(DEADRANK_BINARY_DIRECTORY "/deadrank", "deadrank", "run", "--json", "--jobs", "1",
                "--catalog", DEADRANK_SOURCE_DIRECTORY "/scenarios/catalog", file.c_str(), nullptr);
        ::_exit(127);
    }
    Played played;
    rusage usage{};
    int status = 0;
    ::wait4(child, &status, 0, &usage);
    played.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    played.kibibytes = usage.ru_maxrss;
    std::ifstream in(out);
    played.verdict = nlohmann::json::parse(in, nullptr, false);
    return played;
}

TEST(CrowdExample, OneSlowDeviceOfSixteenThousandIsFound) {
    const Played played = play_example("one_of_sixteen_thousand");
    EXPECT_EQ(played.code, 0) << played.verdict.dump();
    if (plain) {
        EXPECT_LT(played.kibibytes, 100 << 10);
    }
}

TEST(SlowCrowdExample, OneSlowDeviceOfAMillionIsFoundWithinHalfAGigabyte) {
    const Played played = play_example("one_of_a_million");
    EXPECT_EQ(played.code, 0) << played.verdict.dump();
    if (plain) {
        EXPECT_LT(played.kibibytes, 500000);
    }
}

}  // namespace
}  // namespace deadrank
