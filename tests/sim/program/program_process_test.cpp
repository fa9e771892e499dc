// tests/sim/program/program_process_test.cpp — Goal: a program sets its own variables, says who it is when
// ranks meet, and sends signals, and all that reads them does so afterwards.
#include <gtest/gtest.h>

#include "tests/support/program_play.h"

namespace deadrank::tests {
namespace {

const Words own_start = {{"start", "own"}};

runners::Record set_up(const std::string& setup, const Words& cluster = four_ranks,
                       const std::string& step = "barrier()") {
    return play_program(step, cluster, setup, own_start);
}

const results::RankExit* exit_of(const runners::Record& record, results::Rank rank) {
    for (const results::Event* event : record.evidence.each<results::RankExit>())
        if (event->rank == rank) return event->as<results::RankExit>();
    return nullptr;
}

TEST(ProgramProcess, SetsVariablesOfItsOwnThatAreReadAfterwards) {
    const char* setup = R"py(
assert "MY_NAME" not in os.environ and os.environ.get("MY_NAME", "none") == "none"
os.environ["MY_NAME"] = f"rank{rank}"
assert env("MY_NAME") == f"rank{rank}" and os.environ["MY_NAME"] == os.getenv("MY_NAME")
assert os.environ.setdefault("MY_NAME", "x") == f"rank{rank}" and os.environ.pop("MY_NAME") == f"rank{rank}"
os.environ.update({"A": "1", "B": "2"})
del os.environ["A"]
said = ""
try:
    os.environ["A"]
except KeyError as error:
    said = error
assert said == "'A'" and "B" in os.environ
try:
    os.environ["B"] = 3
except TypeError as error:
    said = error
assert said == "str expected, not 'int'"
os.environ["RANK"] = str(world_size - 1 - rank)
init_process_group()
assert get_rank() == int(os.environ["RANK"])
)py";
    EXPECT_EQ(last_words(set_up(setup)), "");
}

TEST(ProgramProcess, SaysItsRankAndTheWorldsSizeByAFormula) {
    EXPECT_EQ(
        last_words(set_up("init_process_group(rank=(rank + 1) % 4, world_size=4)\n"
                          "assert get_rank() == env(\"RANK\") or get_rank() == (int(env(\"RANK\")) + 1) % 4\n"
                          "assert get_world_size() == 4")),
        "");
    EXPECT_EQ(
        last_words(set_up("init_process_group(\"gloo\", \"tcp://node0:29555\", world_size=4, rank=rank)\n"
                          "assert get_backend() == \"gloo\"")),
        "");
    const auto beyond = set_up("init_process_group(rank=rank + 2, world_size=4)");
    EXPECT_FALSE(beyond.truth.completed());
    const auto twice = set_up("init_process_group(rank=0, world_size=4)");
    EXPECT_NE(last_words(twice, 1).find("EADDRINUSE"), std::string::npos) << last_words(twice, 1);
}

TEST(ProgramProcess, RefusesAddressesAsTorchDoes) {
    const std::string head = "ValueError: Error initializing torch.distributed using ";
    EXPECT_EQ(last_words(set_up("init_process_group(init_method=\"tcp://node0:1\", world_size=4)")),
              head + "tcp:// rendezvous: rank parameter missing");
    EXPECT_EQ(last_words(set_up("init_process_group(init_method=\"tcp://node0\", world_size=4, rank=rank)")),
              head + "tcp:// rendezvous: port number missing");
    EXPECT_EQ(last_words(set_up("init_process_group(init_method=\"file://\", world_size=4, rank=rank)")),
              head + "file:// rendezvous: path missing");
    EXPECT_EQ(last_words(set_up("init_process_group(init_method=\"xyz://a\", world_size=4, rank=rank)")),
              "RuntimeError: No rendezvous handler for xyz://a");
}

// Goal: ranks meet at a file, the last one removes it, and one that was left behind holds another run's keys.
TEST(ProgramProcess, MeetsAtAFile) {
    const std::string meet =
        "init_process_group(init_method=\"file:///shared/meet\", world_size=4, rank=rank)";
    const auto well = set_up(meet, four_ranks, "assert exists(\"shared/meet\")\nbarrier()");
    EXPECT_EQ(last_words(well), "");
    EXPECT_TRUE(well.truth.completed());
    Words left = own_start;
    left["earlier"] = "init_process_group(init_method=\"file:///shared/meet\", world_size=4, rank=rank)";
    const auto stale = play_program("barrier()", four_ranks, meet, left);
    EXPECT_FALSE(stale.truth.completed());
    EXPECT_NE(last_words(stale, 1).find("root of a ncclUniqueId of another round"), std::string::npos)
        << last_words(stale, 1);
    const auto apart = play_program(
        "barrier()", {{"gpus_per_node", "1"}, {"nodes", "2"}},
        "init_process_group(init_method=f\"file:///node{node}/meet\", world_size=2, rank=rank)", own_start);
    EXPECT_NE(last_words(apart).find("wait timeout after 300000ms, keys: /all_joined"), std::string::npos)
        << last_words(apart);
}

TEST(ProgramProcess, KillsPeersAndItself) {
    const auto peer = play_program("if rank == 0:\n    os.kill(pid_of(1), SIGKILL)\nsleep(1)", two_ranks);
    ASSERT_NE(exit_of(peer, 1), nullptr);
    EXPECT_EQ(exit_of(peer, 1)->signal, 9);
    const auto aborted =
        play_program("if rank == 1:\n    os.abort()\n    log(\"after\")\nsleep(1)", two_ranks);
    ASSERT_NE(exit_of(aborted, 1), nullptr);
    EXPECT_EQ(exit_of(aborted, 1)->signal, 6);
    const auto left = play_program(
        "if rank == 1:\n    try:\n        os._exit(7)\n    finally:\n"
        "        log(\"cleaned up\", level=\"error\")\nsleep(1)",
        two_ranks);
    ASSERT_NE(exit_of(left, 1), nullptr);
    EXPECT_EQ(exit_of(left, 1)->code, 7);
    EXPECT_EQ(last_words(left, 1), "");
    EXPECT_EQ(last_words(play_program("os.kill(pid_of(1), signal.SIGTERM)",
                                      {{"gpus_per_node", "1"}, {"nodes", "2"}})),
              "ProcessLookupError: [Errno 3] No such process");
}

TEST(ProgramProcess, HandlesSignalsBetweenStatements) {
    const char* step = R"py(
seen = []
def stop(number, frame):
    seen.append(number)
assert signal.signal(SIGTERM, stop) is None
barrier()
if rank == 0:
    os.kill(pid_of(1), SIGTERM)
    os.kill(pid_of(1), 0)
else:
    while not seen:
        sleep("10ms")
    assert seen == [15]
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    os.kill(os.getpid(), SIGUSR1)
    said = ""
    try:
        signal.signal(SIGKILL, stop)
    except OSError as error:
        said = error
    assert said == "[Errno 22] Invalid argument"
barrier()
)py";
    const auto record = play_program(step, two_ranks);
    EXPECT_EQ(last_words(record, 0) + last_words(record, 1), "");
    EXPECT_TRUE(record.truth.completed());
}

// Goal: a rank that evaluates while the others wait is no straggler, and an evaluation by all is no stall.
TEST(ProgramProcess, EvaluatingIsNoTraining) {
    const auto play = [](const std::string& phase, const std::string& who) {
        return symptoms_in(play_program("phase(\"forward\")\ncompute(\"1s\")\nif step in [13, 20, 29] and " +
                                            who + ":\n  phase(\"" + phase +
                                            "\")\n  compute(\"40s\")\nbarrier()\nphase(\"optimizer\")\n"
                                            "compute(\"10ms\")\nbarrier()",
                                        four_ranks, "", {{"steps", "32"}}));
    };
    EXPECT_EQ(play("backward", "rank == 1"), std::vector<std::string>{"straggler_step_time_skew"});
    EXPECT_EQ(play("evaluate", "rank == 1"), std::vector<std::string>{});
    EXPECT_EQ(play("backward", "rank >= 0"), std::vector<std::string>{"low_throughput_uniform"});
    EXPECT_EQ(play("evaluate", "rank >= 0"), std::vector<std::string>{});
}

}  // namespace
}  // namespace deadrank::tests
