// tests/sim/program/program_stores_test.cpp — Goal: torch's stores are objects with their calls, and a
// message may be taken from whoever sent first.
#include <gtest/gtest.h>

#include "tests/support/program_play.h"

namespace deadrank::tests {
namespace {

TEST(ProgramStores, HaveTorchsCalls) {
    const auto record = play_program(R"py(
store = TCPStore("node0", 29600, world_size, rank == 0)
mine = PrefixStore("team", PrefixStore("a", store))
if rank == 0:
    mine.set("x", 3)
    assert store.get("a/team/x") == "3" and mine.get("x") == "3"
    assert store.num_keys() == 2, store.num_keys()
barrier()
mine.wait(["x"])
assert mine.add("n", 2) in (2, 4, 6, 8)
barrier()
assert mine.add("n", 0) == 8 and mine.check(["x", "n"]) and not mine.check(["x", "y"])
if rank == 1:
    assert mine.compare_set("y", "1", "2") == "1" and not mine.check(["y"])
    assert mine.compare_set("y", "", "2") == "2" and mine.compare_set("y", "2", "5") == "5"
    assert mine.compare_set("y", "9", "7") == "5" and mine.delete_key("y") and not mine.delete_key("y")
said = ""
try:
    mine.wait(["x", "never", "z"], timedelta(seconds=2))
except DistStoreError as error:
    said = error
assert said == "wait timeout after 2000ms, keys: /a/team/x, /a/team/never, /a/team/z", said
mine.set_timeout("1s")
try:
    mine.get("never")
except RuntimeError as error:
    said = error
assert said == "wait timeout after 1000ms, keys: /a/team/never", said
file = FileStore("shared/keys", world_size)
file.set(f"r{rank}", rank)
file.wait([f"r{i}" for i in range(world_size)])
assert file.get("r3") == "3"
assert _get_default_store().add("seen", 1) > 0
)py",
                                     four_ranks);
    for (results::Rank rank = 0; rank < 4; ++rank) EXPECT_EQ(last_words(record, rank), "") << rank;
    EXPECT_TRUE(symptoms_in(record).empty());
}

TEST(ProgramStores, RefuseAsTorchDoes) {
    EXPECT_NE(last_words(play_program("TCPStore(\"node0\", 29600, is_master=True)", two_ranks), 1)
                  .find("EADDRINUSE"),
              std::string::npos);
    EXPECT_NE(
        last_words(play_program("if rank == 0:\n    TCPStore(\"node0\", 29600, 3, True, timeout=\"4s\")"))
            .find("Timed out after 5 seconds waiting for clients. 1/3 clients joined."),
        std::string::npos);
    EXPECT_NE(last_words(play_program("TCPStore(\"node0\", 29600, timeout=\"4s\")"))
                  .find("timed out after 4000ms while trying to connect to (node0, 29600)"),
              std::string::npos);
}

const Words four_over_gloo = {{"gpus_per_node", "4"}, {"nodes", "1"}, {"library", "gloo"}};

TEST(ProgramStores, TakeFromWhoeverSentFirst) {
    const auto record = play_program(R"py(
if rank == 0:
    seen = []
    sleep(1)
    for i in range(6):
        x = zeros(1)
        source = recv(x)
        assert int(x[0]) % 10 == source, (x, source)
        seen.append((source, int(x[0]) // 10))
    assert seen == [(3, 0), (2, 0), (1, 0), (3, 1), (2, 1), (1, 1)], seen
    assert recv(zeros(1), src=1) == 1
else:
    sleep(0.4 - 0.1 * rank)
    for i in range(2):
        send(tensor([float(rank + 10 * i)]), 0)
    if rank == 1:
        send(ones(1), 0)
)py",
                                     four_over_gloo);
    for (results::Rank rank = 0; rank < 4; ++rank) EXPECT_EQ(last_words(record, rank), "") << rank;
    EXPECT_TRUE(symptoms_in(record).empty());
    EXPECT_EQ(last_words(play_program("recv(zeros(1))")),
              "RuntimeError: Backend nccl does not support recvAnysource");
}

// Goal: a group over gloo in a job of NCCL takes the interface that gloo's variable names, and only that one.
TEST(ProgramStores, GlooGroupsReadTheirOwnInterface) {
    const std::string setup =
        "os.environ[\"GLOO_SOCKET_IFNAME\"] = \"nope0\"\nnew_group()\nall_reduce(ones(1))\n";
    EXPECT_EQ(last_words(play_program("pass", four_ranks, setup)), "");
    EXPECT_NE(last_words(play_program("pass", four_ranks, setup + "new_group(backend=\"gloo\")"))
                  .find("Unable to find address for: nope0"),
              std::string::npos);
    EXPECT_EQ(last_words(play_program("pass", four_ranks,
                                      "os.environ[\"NCCL_SOCKET_IFNAME\"] = \"nope0\"\n"
                                      "new_group(backend=\"gloo\")")),
              "");
}

TEST(ProgramStores, WaitForAnybodyIsSeen) {
    const auto record = play_program("if rank == 0:\n    recv(zeros(1))", four_over_gloo);
    EXPECT_FALSE(record.truth.completed());
    EXPECT_FALSE(symptoms_in(record).empty());
}

}  // namespace
}  // namespace deadrank::tests
