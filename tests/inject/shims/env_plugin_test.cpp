// Goal: one rank's NCCL sees another configuration than its process has; the installed NCCL asks us without a
// GPU.
#include <gmock/gmock.h>

#include "tests/inject/shims/shim_run.h"

namespace deadrank::tests {
namespace {

using testing::HasSubstr;

class DeviceEnvPlugin : public testing::Test {
protected:
    void SetUp() override {
        if (const std::string why = no_shims(); !why.empty()) GTEST_SKIP() << why;
        run.plan({{"environment",
                   {{"1", {{"set", {{"NCCL_ALGO", "Tree"}}}, {"unset", {"NCCL_PROTO"}}}},
                    {"2", {{"set", {{"NCCL_SOCKET_IFNAME", "nosuch0"}}}}}}}});
        run.environment["NCCL_ALGO"] = "Ring";
        run.environment["NCCL_PROTO"] = "LL";
        run.environment["NCCL_DEBUG"] = "WARN";
    }
    const std::string plugin = shim_directory + "/libnccl-env-deadrank.so";
    ShimRun run;
};

TEST_F(DeviceEnvPlugin, SetsAndHidesVariablesOfOneRank) {
    const std::string ask =
        program_directory + "/env_reader " + plugin + " NCCL_ALGO NCCL_PROTO NCCL_DEBUG NCCL_NONE";
    EXPECT_EQ(run.start(ask).out,
              "NCCL_ALGO=Tree process=Ring\nNCCL_PROTO=(none) process=LL\nNCCL_DEBUG=WARN process=WARN\n"
              "NCCL_NONE=(none) process=(none)\n");
    run.environment["DEADRANK_RANK"] = "0";
    EXPECT_THAT(run.start(ask).out, HasSubstr("NCCL_ALGO=Ring process=Ring\nNCCL_PROTO=LL"));
}

// ncclGetUniqueId asks for its interface's name: the first variable that NCCL reads without a GPU.
TEST_F(DeviceEnvPlugin, GivesTheInstalledNcclAnInterfaceThatIsNotThere) {
    if (installed_nccl().empty()) GTEST_SKIP() << "no NCCL is installed here";
    run.environment["LD_LIBRARY_PATH"] = installed_nccl() + ":" + program_directory + "/doubles";
    const std::string ask =
        program_directory + "/shim_host local " + program_directory + "/libnccl_caller.so version id";
    run.environment["DEADRANK_RANK"] = "2";
    if (run.start(ask).out.find("id 0") == std::string::npos)
        GTEST_SKIP() << "this NCCL makes no unique id here";
    run.environment["NCCL_ENV_PLUGIN"] = plugin;
    const Answer bent = run.start(ask);
    if (bent.out.find("version 0 228") == std::string::npos &&
        bent.out.find("version 0 229") == std::string::npos &&
        bent.out.find("version 0 23") == std::string::npos) {
        GTEST_SKIP() << "NCCL has environment plugins from 2.28 on; this one is " << bent.out;
    }
    EXPECT_THAT(bent.out, HasSubstr("no socket interface found"));
    EXPECT_THAT(bent.out, HasSubstr("id 5"));
    run.environment["DEADRANK_RANK"] = "1";
    EXPECT_THAT(run.start(ask).out, HasSubstr("id 0")) << "only rank 2 is meant";
}

}  // namespace
}  // namespace deadrank::tests
