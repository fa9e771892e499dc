// Goal: the interposer sits between a program and NCCL as NVIDIA ships it: the installed one, and another
// version from a wheel. Without a GPU, NCCL goes as far as versions, unique ids, argument checks and groups.
#include <gmock/gmock.h>

#include "tests/inject/shims/shim_run.h"

namespace deadrank::tests {
namespace {

using testing::HasSubstr;

struct Library {
    const char* name;
    std::string (*directory)();
    friend void PrintTo(const Library& library, std::ostream* out) { *out << library.name; }
};

class DeviceRealNccl : public testing::TestWithParam<Library> {
protected:
    void SetUp() override {
        if (const std::string why = no_shims(); !why.empty()) GTEST_SKIP() << why;
        const std::string directory = GetParam().directory();
        if (directory.empty()) {
            GTEST_SKIP() << "there is no libnccl.so.2 here: `./dev tools` fetches a wheel's, CUDA's packages "
                            "bring the "
                            "installed one";
        }
        run.environment["LD_LIBRARY_PATH"] = directory + ":" + program_directory + "/doubles";
    }
    ShimRun run;
};

TEST_P(DeviceRealNccl, AnswersThroughTheInterposerAsWithoutIt) {
    const Answer through = run.calls("version id null group_start group_end");
    run.environment.erase("DEADRANK_EVIDENCE");
    const Answer asleep = run.calls("version id null group_start group_end");
    EXPECT_EQ(through.out, asleep.out);
    EXPECT_THAT(through.out, HasSubstr("version 0 2"));
    EXPECT_THAT(through.out, HasSubstr("id 0\n"));
    EXPECT_THAT(through.out, HasSubstr("null 4\n")) << "its own check of arguments";
    EXPECT_THAT(through.out, HasSubstr("group_end 0\n"));
}

TEST_P(DeviceRealNccl, ClaimsAnotherVersion) {
    run.fault({{"at_start", true}}, {{"lever", "set_version"}, {"package", "nccl"}, {"version", "2.19.4"}});
    EXPECT_THAT(run.calls("version").out, HasSubstr("version 0 21904"));
}

TEST_P(DeviceRealNccl, RefusesAnIdWhenThePlanSaysSo) {
    run.fault({{"before", "get_unique_id"}}, {{"answer", "system_error"}});
    EXPECT_THAT(run.calls("id id").out, HasSubstr("id 2\nid 0\n"));
}

// Two ranks that name different versions. The check is NCCL's own, and behind its first look at a GPU.
TEST_P(DeviceRealNccl, RefusesAPeerOfAnotherVersion) {
    run.fault({{"at_start", true}}, {{"lever", "set_version"}, {"package", "nccl"}, {"version", "2.18.3"}});
    run.environment["NCCL_DEBUG"] = "WARN";
    const std::string id = (run.directory / "id").string();
    const std::string host =
        program_directory + "/shim_host local " + program_directory + "/libnccl_caller.so init:2:";
    run.environment["LD_PRELOAD"] = shim_directory + "/libdeadrank-nccl.so";
    const Answer both =
        run.start("sh -c '" + host + "1:" + id + " & DEADRANK_RANK=0 " + host + "0:" + id + "; wait'");
    if (both.out.find("init 1") != std::string::npos) {
        const std::size_t said = both.out.find("Cuda failure");
        GTEST_SKIP() << "without a GPU, ncclCommInitRank ends before ranks compare versions: "
                     << (said == std::string::npos ? "init 1"
                                                   : both.out.substr(said, both.out.find('\n', said) - said));
    }
    EXPECT_THAT(both.out, HasSubstr("Mismatched NCCL version detected"));
    EXPECT_THAT(both.out, HasSubstr("init 5"));
}

INSTANTIATE_TEST_SUITE_P(Of, DeviceRealNccl,
                         testing::Values(Library{"TheMachine", installed_nccl},
                                         Library{"AWheel", nccl_of_wheel}),
                         [](const auto& chosen) { return std::string(chosen.param.name); });

}  // namespace
}  // namespace deadrank::tests
