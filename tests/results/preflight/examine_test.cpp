// Goal: each rule finds its mistake in a hand-written job and leaves the healthy job alone.
#include "results/preflight/examine.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deadrank::results::preflight {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Knowledge& knowledge() {
    static const Knowledge all = load_knowledge(DEADRANK_SOURCE_DIRECTORY "/results/preflight").value();
    return all;
}

// Two hosts of two ranks, as torchrun starts them.
Job healthy() {
    Job job(4);
    for (std::size_t i = 0; i < 4; ++i) {
        job[i].host = i < 2 ? "node0" : "node1";
        job[i].pid = static_cast<std::int64_t>(100 + i);
        job[i].environment = {{"RANK", std::to_string(i)},
                              {"WORLD_SIZE", "4"},
                              {"LOCAL_RANK", std::to_string(i % 2)},
                              {"LOCAL_WORLD_SIZE", "2"},
                              {"MASTER_ADDR", "node0"},
                              {"MASTER_PORT", "29500"},
                              {"NCCL_DEBUG", "warn"},
                              {"NCCL_IB_TC", "106"},
                              {"NCCL_ALGO", "allreduce:tree,ring;broadcast:^ring"}};
        job[i].versions = {
            {"nccl", "2.28.9"}, {"cuda", "13.0"}, {"driver", "580.82.07"}, {"torch", "2.11.0+cu130"}};
        job[i].interfaces = {{.name = "lo", .loopback = true}, {.name = "docker0"}, {.name = "eth0"}};
        job[i].shared_memory = std::int64_t{8} << 30;
        job[i].open_files = 65536;
        job[i].gpus = 2;
        job[i].master_resolves = true;
        if (i == 0) job[i].master_port_taken = false;
    }
    return job;
}

// The one remark that is due, about these processes.
void expect_remark(const Job& job, std::string_view rule, std::string_view subject,
                   const std::vector<std::size_t>& processes) {
    std::vector<std::string> found;
    for (const Remark& remark : examine(job, knowledge())) {
        found.push_back(remark.rule + " " + remark.subject + ": " + remark.says);
        EXPECT_EQ(remark.processes, processes) << remark.says;
        EXPECT_FALSE(remark.remedy.empty() || remark.source.empty()) << remark.says;
    }
    EXPECT_THAT(found, ElementsAre(HasSubstr(fmt::format("{} {}:", rule, subject))));
}

TEST(Preflight, SaysNothingOfAHealthyJob) { EXPECT_THAT(examine(healthy(), knowledge()), IsEmpty()); }

TEST(Preflight, SaysNothingOfAMachineThatRunsNoJob) {
    Snapshot plain;
    plain.environment = {{"PATH", "/bin"}, {"HOME", "/root"}};
    EXPECT_THAT(examine({plain}, knowledge()), IsEmpty());
}

TEST(Preflight, FindsALaunchVariableThatIsMissing) {
    Job job = healthy();
    job[2].environment.erase("MASTER_ADDR");
    auto remarks = examine(job, knowledge());
    ASSERT_FALSE(remarks.empty());
    EXPECT_EQ(remarks.front().rule, "launch_variable");
    EXPECT_EQ(remarks.front().subject, "MASTER_ADDR");
    EXPECT_THAT(remarks.front().processes, ElementsAre(2));
}

TEST(Preflight, FindsARankThatIsNoNumber) {
    Job job = healthy();
    job[3].environment["RANK"] = "three";
    expect_remark(job, "launch_variable", "RANK", {3});
}

TEST(Preflight, FindsTwoProcessesOfOneRank) {
    Job job = healthy();
    job[3].environment["RANK"] = "2";
    const auto remarks = examine(job, knowledge());
    ASSERT_FALSE(remarks.empty());
    EXPECT_THAT(remarks.front().says, HasSubstr("2 processes claim rank 2"));
}

TEST(Preflight, FindsAWorldSizeThatNobodyStarts) {
    Job job = healthy();
    for (Snapshot& one : job) one.environment["WORLD_SIZE"] = "64";
    expect_remark(job, "launch_variable", "WORLD_SIZE", {0, 1, 2, 3});
}

TEST(Preflight, FindsRanksThatDoNotFollowTheirHosts) {
    Job job = healthy();
    job[1].environment["RANK"] = "2";
    job[2].environment["RANK"] = "1";
    expect_remark(job, "rank_order", "RANK", {0, 1, 2, 3});
}

TEST(Preflight, FindsANumberThatNcclReadsAsZero) {
    Job job = healthy();
    for (Snapshot& one : job) one.environment["NCCL_IB_TIMEOUT"] = "abc";
    expect_remark(job, "variable_value", "NCCL_IB_TIMEOUT", {0, 1, 2, 3});
    EXPECT_THAT(examine(job, knowledge()).front().says, HasSubstr("read as 0"));
}

TEST(Preflight, ReadsNumbersAsNcclDoes) {
    Job job = healthy();
    for (Snapshot& one : job) one.environment["NCCL_BUFFSIZE"] = "0x400000";
    EXPECT_THAT(examine(job, knowledge()), IsEmpty());
}

TEST(Preflight, FindsAWordThatNobodyUnderstands) {
    Job job = healthy();
    for (Snapshot& one : job) one.environment["NCCL_ALGO"] = "Rign";
    expect_remark(job, "variable_value", "NCCL_ALGO", {0, 1, 2, 3});
}

TEST(Preflight, FindsANameThatNobodyReads) {
    Job job = healthy();
    for (Snapshot& one : job) one.environment["NCCL_SOCKET_IFNAMES"] = "eth0";
    expect_remark(job, "variable_name", "NCCL_SOCKET_IFNAMES", {0, 1, 2, 3});
}

TEST(Preflight, LeavesNamesAloneThatAreUnlikeAll) {
    Job job = healthy();
    for (Snapshot& one : job) one.environment["NCCL_SITE_PLUGIN_PATH"] = "/opt";
    EXPECT_THAT(examine(job, knowledge()), IsEmpty());
}

TEST(Preflight, FindsTheHostThatIsConfiguredUnlikeTheOthers) {
    Job job = healthy();
    job[2].environment["NCCL_IB_DISABLE"] = job[3].environment["NCCL_IB_DISABLE"] = "1";
    expect_remark(job, "variable_drift", "NCCL_IB_DISABLE", {2, 3});
}

TEST(Preflight, FindsAWaitThatNobodyEnds) {
    Job job = healthy();
    for (Snapshot& one : job) one.environment["TORCH_NCCL_ASYNC_ERROR_HANDLING"] = "0";
    expect_remark(job, "endless_wait", "TORCH_NCCL_ASYNC_ERROR_HANDLING", {0, 1, 2, 3});
    for (Snapshot& one : job) one.environment["TORCH_NCCL_BLOCKING_WAIT"] = "1";
    EXPECT_THAT(examine(job, knowledge()), IsEmpty());
}

TEST(Preflight, FindsAFilterThatFitsNoInterface) {
    Job job = healthy();
    for (Snapshot& one : job) one.environment["NCCL_SOCKET_IFNAME"] = "=eth0,eth1";
    EXPECT_THAT(examine(job, knowledge()), IsEmpty());
    for (Snapshot& one : job) one.environment["NCCL_SOCKET_IFNAME"] = "ib0";
    expect_remark(job, "interface", "NCCL_SOCKET_IFNAME", {0, 1, 2, 3});
    for (Snapshot& one : job) one.environment["NCCL_SOCKET_IFNAME"] = "^lo,docker,eth";
    expect_remark(job, "interface", "NCCL_SOCKET_IFNAME", {0, 1, 2, 3});
}

TEST(Preflight, FindsTheHostThatTakesAVirtualInterface) {
    Job job = healthy();
    job[2].interfaces.insert(job[2].interfaces.begin(), {.name = "cali0"});
    expect_remark(job, "interface", "NCCL_SOCKET_IFNAME", {2});
}

TEST(Preflight, FindsAMasterThatCannotBeReached) {
    Job job = healthy();
    job[3].master_resolves = false;
    expect_remark(job, "master", "MASTER_ADDR", {3});
    job = healthy();
    job[0].master_port_taken = true;
    expect_remark(job, "master", "MASTER_PORT", {0});
    job = healthy();
    for (Snapshot& one : job) one.environment["MASTER_ADDR"] = "127.0.0.1";
    expect_remark(job, "master", "MASTER_ADDR", {0, 1, 2, 3});
}

TEST(Preflight, FindsALocalRankWithoutADevice) {
    Job job = healthy();
    job[2].gpus = job[3].gpus = 1;
    expect_remark(job, "device", "LOCAL_RANK", {3});
}

TEST(Preflight, WarnsOfAContainersSharedMemory) {
    Job job = healthy();
    job[2].shared_memory = job[3].shared_memory = 64 << 20;
    expect_remark(job, "limit", "/dev/shm", {2, 3});
    EXPECT_EQ(examine(job, knowledge()).front().weight, Weight::warning);
}

TEST(Preflight, FindsAnotherVersionAndSaysWhatOneWouldSee) {
    Job job = healthy();
    job[2].versions["nccl"] = job[3].versions["nccl"] = "2.21.5";
    expect_remark(job, "version_skew", "nccl", {2, 3});
    EXPECT_THAT(examine(job, knowledge()).front().says, HasSubstr("Message truncated"));
}

TEST(Preflight, FindsANightlyOnAllRanks) {
    Job job = healthy();
    for (Snapshot& one : job) one.versions["torch"] = "2.12.0.dev20260301";
    expect_remark(job, "nightly", "torch", {0, 1, 2, 3});
}

TEST(Preflight, FindsWhoDoesNotKnowItsPlaceAmongOthersOfItsHost) {
    Job job = healthy();
    job[2].environment.erase("LOCAL_RANK");
    expect_remark(job, "launch_variable", "LOCAL_RANK", {2});
    job[2].host = "node2";
    EXPECT_THAT(examine(job, knowledge()), IsEmpty());
}

TEST(Preflight, FindsADriverThatIsTooOld) {
    Job job = {healthy().front()};
    job[0].environment.clear();
    job[0].versions["driver"] = "550.54.14";
    expect_remark(job, "version_need", "cuda", {0});
    job[0].versions["cuda"] = "12.4";
    EXPECT_THAT(examine(job, knowledge()), IsEmpty());
}

TEST(Preflight, ASnapshotReadsBackFromItsText) {
    for (const Snapshot& one : healthy()) {
        const auto back = snapshot_from_json(to_json(one), "x");
        ASSERT_TRUE(back) << back.error().text();
        EXPECT_EQ(to_json(*back), to_json(one));
    }
    EXPECT_THAT(snapshot_from_json("{\"host\": 3}", "x.json").error().text(), HasSubstr("x.json"));
}

TEST(Preflight, ComparesVersionsByNumber) {
    EXPECT_LT(compare_versions("2.9.8", "2.28.3"), 0);
    EXPECT_EQ(compare_versions("2.11.0+cu130", "2.11"), 0);
    EXPECT_GT(compare_versions("580.65.06", "525.60.13"), 0);
}

}  // namespace
}  // namespace deadrank::results::preflight
