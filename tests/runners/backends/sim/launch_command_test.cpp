// tests/runners/backends/sim/launch_command_test.cpp — What a launch command says about ranks, and what is
// refused.
#include "runners/backends/sim/launch_command.h"

#include <fstream>
#include <gmock/gmock.h>

namespace deadrank::runners {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

LaunchCommand read(const std::vector<std::string>& words, std::int64_t ranks = 0) {
    const auto command = read_launch_command(words, ranks);
    EXPECT_TRUE(command) << command.error().text();
    return command ? *command : LaunchCommand{};
}

std::string refusal(const std::vector<std::string>& words) {
    const auto command = read_launch_command(words, 0);
    return command ? "accepted" : command.error().text();
}

TEST(LaunchCommand, ReadsTorchrun) {
    const LaunchCommand command =
        read({"torchrun", "--nnodes=4", "--nproc_per_node", "8", "--max-restarts=2", "--monitor-interval=0.5",
              "--rdzv-backend", "c10d", "train.py", "--lr", "1"});
    EXPECT_EQ(command.launcher, scenarios::LauncherKind::torchrun);
    EXPECT_EQ(command.nodes, 4);
    EXPECT_EQ(command.ranks(), 32);
    EXPECT_EQ(command.restarts_max, 2);
    EXPECT_EQ(command.monitor_interval, 500'000'000);
    EXPECT_THAT(command.argv, ElementsAre("train.py", "--lr", "1"));
}

TEST(LaunchCommand, ReadsModulesAndTheModuleOfTorchrun) {
    EXPECT_THAT(read({"torchrun", "-m", "pkg.train", "x"}).argv, ElementsAre("-m", "pkg.train", "x"));
    EXPECT_THAT(read({"torchrun", "-m", "pkg.train", "--", "--lr", "1", "--", "x"}).argv,
                ElementsAre("-m", "pkg.train", "--lr", "1", "--", "x"));
    EXPECT_THAT(read({"torchrun", "--", "t.py", "--", "x"}).argv, ElementsAre("t.py", "--", "x"));
    EXPECT_THAT(read({"deepspeed", "--num_gpus=2", "t.py", "--", "x"}).argv, ElementsAre("t.py", "x"));
    EXPECT_THAT(read({"python", "t.py", "--", "x"}).argv, ElementsAre("t.py", "--", "x"));
    EXPECT_EQ(read({"python3", "-m", "torch.distributed.run", "--nproc-per-node=2", "t.py"}).ranks(), 2);
}

TEST(LaunchCommand, StartsAProcessForEachGpuWhereTheLauncherDoes) {
    for (const auto& words : {std::vector<std::string>{"torchrun", "--nproc-per-node=gpu", "t.py"},
                              {"torchrun", "--nproc_per_node", "auto", "t.py"},
                              {"deepspeed", "t.py"}}) {
        EXPECT_EQ(read_launch_command(words, 0, 8)->ranks_per_node, 8);
        EXPECT_EQ(read_launch_command(words, 4, 0)->ranks(), 4);
        EXPECT_THAT(refusal(words), HasSubstr("a process for each GPU of a node"));
    }
}

TEST(LaunchCommand, ReadsDeepspeedMpirunSrunAndPython) {
    EXPECT_EQ(read({"deepspeed", "--num_gpus=4", "t.py"}).local_rank_argument, "--local_rank");
    const LaunchCommand mpi =
        read({"mpirun", "-np", "4", "-x", "A=b", "--bind-to", "none", "python", "-u", "t.py"});
    EXPECT_EQ(mpi.launcher, scenarios::LauncherKind::mpirun);
    EXPECT_EQ(mpi.environment.at("A"), "b");
    EXPECT_THAT(mpi.argv, ElementsAre("t.py"));
    EXPECT_EQ(read({"srun", "-N", "2", "-n", "16", "python", "t.py"}).ranks_per_node, 8);
    const LaunchCommand joined = read({"srun", "-N2", "-n16", "-Jname", "python", "t.py", "-n", "3"});
    EXPECT_EQ(joined.nodes, 2);
    EXPECT_EQ(joined.environment.at("SLURM_JOB_ID"), "1");
    EXPECT_EQ(joined.ranks_per_node, 8);
    EXPECT_THAT(joined.argv, ElementsAre("t.py", "-n", "3"));
    EXPECT_EQ(read({"srun", "-N2", "python", "t.py", "-n", "3"}).ranks_per_node, 1);
    EXPECT_EQ(read({"python", "t.py"}, 6).ranks(), 6);
    const std::vector<std::string> older{"python", "-m", "torch.distributed.launch"};
    const auto launched = [&](std::vector<std::string> rest) {
        rest.insert(rest.begin(), older.begin(), older.end());
        return read(rest).local_rank_argument;
    };
    EXPECT_EQ(launched({"--nproc_per_node=2", "t.py", "--use-env"}), "--local-rank");
    EXPECT_EQ(launched({"--use_env", "t.py"}), "");
}

// Otherwise a rank that fails would leave the others waiting: nobody but the main program ends them.
TEST(LaunchCommand, SeesThatAScriptSpawnsItsRanks) {
    const std::string script = testing::TempDir() + "spawns.py";
    std::ofstream(script) << "import torch.multiprocessing as mp\nmp.spawn(work, nprocs=4)\n";
    EXPECT_EQ(read({"python", script}, 4).launcher, scenarios::LauncherKind::spawn);
    EXPECT_EQ(read_launch_command({"python", script}, 0, 8)->ranks(), 8);
    EXPECT_EQ(read_launch_command({"python", script}, 4, 8)->ranks(), 4);
    EXPECT_EQ(read_launch_command({"torchrun", "t.py"}, 0, 8)->ranks(), 1);
    EXPECT_EQ(read({"torchrun", script}).launcher, scenarios::LauncherKind::torchrun);
    std::ofstream(script) << "import torch\n";
    EXPECT_EQ(read({"python", script}, 4).launcher, scenarios::LauncherKind::bare);
}

TEST(LaunchCommand, RefusesWhatItCannotPlayWithASentence) {
    EXPECT_THAT(refusal({"torchrun", "--nnodes=1:4", "t.py"}), HasSubstr("--nnodes is '1:4', a range"));
    EXPECT_THAT(refusal({"torchrun", "--nproc-per-node=cpu", "t.py"}),
                HasSubstr("--nproc-per-node is 'cpu'"));
    EXPECT_THAT(refusal({"torchrun", "--no-such", "t.py"}), HasSubstr("does not know '--no-such'"));
    EXPECT_THAT(refusal({"torchrun", "--nproc-per-node=2"}), HasSubstr("names no program"));
    EXPECT_THAT(refusal({"torchrun", "--nnodes"}), HasSubstr("'--nnodes' lacks its value"));
    EXPECT_THAT(refusal({"mpirun", "-n", "2", "./a.out"}), HasSubstr("'./a.out' is no Python"));
    EXPECT_THAT(refusal({"ray", "job", "t.py"}), HasSubstr("does not know the launcher 'ray'"));
}

}  // namespace
}  // namespace deadrank::runners
