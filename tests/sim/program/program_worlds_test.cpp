// tests/sim/program/program_worlds_test.cpp — Goal: ranks that meet apart are worlds of their own, one after
// the other or side by side, and what cannot be a world is refused with a sentence.
#include <gtest/gtest.h>

#include "tests/support/program_play.h"

namespace deadrank::tests {
namespace {

const Words of_their_own = {{"start", "own"}};
const Words two_nodes = {{"gpus_per_node", "4"}, {"nodes", "2"}};

runners::Record met(const std::string& setup, const Words& cluster, const Words& more = of_their_own) {
    return play_program("pass", cluster, setup, more);
}

void expect_well(const runners::Record& record, results::Rank ranks) {
    for (results::Rank rank = 0; rank < ranks; ++rank) EXPECT_EQ(last_words(record, rank), "") << rank;
    EXPECT_TRUE(record.truth.completed());
    EXPECT_EQ(symptoms_in(record), std::vector<std::string>{});
}

std::vector<std::string> members_of(const runners::Record& record, std::string_view name) {
    std::vector<std::string> found;
    for (const results::Event* event : record.evidence.each<results::CommInitEnter>()) {
        const auto* enter = event->as<results::CommInitEnter>();
        if (record.evidence.text(enter->name) != name || enter->rank_in_comm != 0) continue;
        found.emplace_back(record.evidence.text(enter->members));
    }
    std::sort(found.begin(), found.end());
    return found;
}

const std::string in_each = R"py(
assert (get_rank(), get_world_size()) == (launched % 4, 4) == (rank, world_size)
x = tensor([float(launched)])
all_reduce(x)
assert x[0] == (6.0 if launched < 4 else 22.0), x
pair = new_group([2, 3], name="pair")
y = tensor([float(launched)])
if rank >= 2:
    broadcast(y, src=3, group=pair)
assert y[0] == (launched if rank < 2 else launched // 4 * 4 + 3)
)py";

TEST(ProgramWorlds, PartsOfTheRanksMeetApart) {
    const auto by_address =
        met("launched = rank\ninit_process_group(init_method=f\"tcp://node{node}:29511\", "
            "world_size=4, rank=rank % 4)" +
                in_each,
            two_nodes);
    expect_well(by_address, 8);
    EXPECT_EQ(members_of(by_address, "world"), (std::vector<std::string>{"0-3", "4-7"}));
    EXPECT_EQ(members_of(by_address, "pair"), (std::vector<std::string>{"2-3", "6-7"}));
    expect_well(met("launched = rank\ninit_process_group(init_method=f\"file:///shared/part{node}\", "
                    "world_size=4, rank=rank % 4)" +
                        in_each,
                    two_nodes),
                8);
    expect_well(met("launched = rank\nstore = PrefixStore(f\"part{node}\", TCPStore(\"node0\", 29600, "
                    "world_size, rank == 0))\nall = PrefixStore(\"all\", TCPStore(\"node0\", 29600))\n"
                    "init_process_group(store=store, world_size=4, rank=rank % 4)" +
                        in_each +
                        "all.set(f\"{launched}\", 1)\nif launched == 0:\n"
                        "    all.wait([f\"{i}\" for i in range(8)])  # its host stays until then\n",
                    two_nodes),
                8);
    const auto one_part =
        met("if rank < 4:\n    init_process_group(world_size=4)\n    barrier()\n"
            "assert is_initialized() == (node == 0)",
            two_nodes);
    expect_well(one_part, 8);
    EXPECT_EQ(members_of(one_part, "world"), (std::vector<std::string>{"0-3"}));
}

TEST(ProgramWorlds, WhoIsMissingInOneOfThemIsNamed) {
    const auto record =
        met("if rank != 6:\n    init_process_group(init_method=f\"tcp://node{node}:29511\", world_size=4, "
            "rank=rank % 4, timeout=\"30s\")\n    barrier()\nelse:\n    sleep(\"10m\")",
            two_nodes);
    const auto findings = results::detect(record.evidence, results::all_detectors());
    ASSERT_FALSE(findings.empty());
    EXPECT_EQ(findings.front().blame.ranks, std::vector<results::Rank>{6}) << findings.front().says;
    const auto hung =
        met("init_process_group(init_method=f\"tcp://node{node}:29511\", world_size=4, rank=rank % 4)\n"
            "if node == 0 or rank != 2:\n    all_reduce(ones(1))\nelse:\n    sleep(\"20m\")",
            two_nodes, {{"start", "own"}});
    const auto found = results::detect(hung.evidence, results::all_detectors());
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found.front().blame.ranks, std::vector<results::Rank>{6}) << found.front().says;
}

TEST(ProgramWorlds, OneComesAfterTheOther) {
    const auto again = met(R"py(
launched = rank
init_process_group()
all_reduce(ones(1))
barrier()
destroy_process_group()
assert not is_initialized()
init_process_group(init_method=f"tcp://node{node}:29512", world_size=4, rank=rank % 4))py" +
                               in_each + R"py(
destroy_process_group()
assert (rank, world_size) == (launched, 8)
)py",
                           two_nodes);
    expect_well(again, 8);
    EXPECT_EQ(members_of(again, "world"), (std::vector<std::string>{"0-3", "0-7", "4-7"}));
    const std::string twice =
        "for i in range(2):\n    init_process_group()\n    x = ones(1)\n    all_reduce(x)\n"
        "    assert x[0] == 4.0\n    destroy_process_group()";
    expect_well(met(twice, {{"gpus_per_node", "4"}, {"nodes", "1"}, {"launcher", "bare"}}), 4);
    const auto kept = met(twice, four_ranks);
    EXPECT_NE(last_words(kept, 1).find("root of a ncclUniqueId of another round"), std::string::npos)
        << last_words(kept, 1);
    const std::string file =
        "for i in range(2):\n    init_process_group(init_method=\"file:///shared/meet\", "
        "world_size=4, rank=rank)\n    barrier()\n    destroy_process_group()";
    expect_well(met(file, four_ranks), 4);
}

TEST(ProgramWorlds, WhatCannotBeIsRefused) {
    EXPECT_EQ(last_words(met("init_process_group()\ninit_process_group()", four_ranks)),
              "ValueError: trying to initialize the default process group twice!");
    EXPECT_EQ(last_words(met("init_process_group(store=TCPStore(\"node0\", 29600, is_master=rank == 0))",
                             four_ranks)),
              "AssertionError: world_size must be positive if using store");
    const auto mixed =
        met("init_process_group(init_method=\"tcp://node0:29511\", world_size=4, rank=rank % 4)", two_nodes);
    EXPECT_FALSE(mixed.truth.completed());
    EXPECT_FALSE(symptoms_in(mixed).empty());
}

TEST(ProgramWorlds, AnotherTryIsAllowedWhereThereIsNone) {
    expect_well(met(R"py(
said = ""
try:
    init_process_group(init_method="tcp://node0:1x", world_size=4, rank=rank)
except ValueError as error:
    said = error
assert "invalid literal" in said, said
init_process_group()
barrier()
)py",
                    four_ranks),
                4);
}

}  // namespace
}  // namespace deadrank::tests
