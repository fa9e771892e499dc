// tests/sim/agents_test.cpp — torchrun's agents, one on each node: with how many nodes they go on, what they
// count, and how long the store lives in which their ranks meet.
#include <gmock/gmock.h>
#include <map>

#include "tests/sim/cluster_harness.h"

namespace deadrank::sim {
namespace {

using namespace std::chrono_literals;
using results::no_rank;
using testing::Each;
using testing::ElementsAre;
using testing::Pair;

// What each process found in its environment, life after life.
using Seen = std::map<Rank, std::vector<std::string>>;

Script reading(Seen& seen, std::vector<std::string> names, Time lives = 60s) {
    return [&seen, names = std::move(names), lives](World& world) {
        std::string words;
        for (const std::string& name : names)
            words += (words.empty() ? "" : " ") + world.env().get(name).value_or("-");
        seen[world.process()].push_back(words);
        world.timer().sleep(lives);
    };
}

ClusterSettings agents(int nodes, int gpus, int nodes_min = 1) {
    ClusterSettings settings = bare(nodes, gpus);
    settings.launcher = LauncherKind::torchrun;
    settings.nodes_min = nodes_min;
    return settings;
}

Setup lose(int node, Time when = 2s) {
    return [=](Cluster& cluster) {
        cluster.at(when, [=, &cluster] { cluster.change_host(node, {.down = true}); });
    };
}

int code_of(const Trial& trial) { return trial.of<results::JobStop>(no_rank).at(0).code; }

TEST(Agents, GoOnWithFewerNodesWhenOneLeaves) {
    Seen seen;
    const Trial trial = play(agents(2, 2), reading(seen, {"RANK", "WORLD_SIZE", "PET_NNODES"}), lose(1));
    EXPECT_THAT(seen[1], ElementsAre("1 4 1:2", "1 2 1:2"));
    EXPECT_THAT(seen[3], ElementsAre("3 4 1:2"));
    EXPECT_EQ(trial.times<results::RankExit>(0).at(0), 17s) << "three signs of life had not come";
    EXPECT_EQ(code_of(trial), 0) << "no restart was used up, and none was left";
    EXPECT_TRUE(trial.says(no_rank, "nodes 1 left: the workers of 1 of 2 nodes start again"));
}

TEST(Agents, NumberTheRanksOverTheNodesThatAreThere) {
    Seen seen;
    (void)play(agents(3, 1), reading(seen, {"RANK", "WORLD_SIZE", "MASTER_ADDR"}), lose(0));
    EXPECT_THAT(seen,
                ElementsAre(Pair(0, ElementsAre("0 3 node0")), Pair(1, ElementsAre("1 3 node0", "0 2 node1")),
                            Pair(2, ElementsAre("2 3 node0", "1 2 node1"))));
}

TEST(Agents, TakeANodeInWhenItIsBack) {
    ClusterSettings settings = agents(2, 1);
    settings.node_returns_after = 30s;
    Seen seen;
    const Trial trial = play(settings, reading(seen, {"RANK", "WORLD_SIZE"}), lose(0));
    EXPECT_THAT(seen[0], ElementsAre("0 2", "0 2"));
    EXPECT_THAT(seen[1], ElementsAre("1 2", "0 1", "1 2"));
    EXPECT_EQ(trial.of<results::Restart>(no_rank).size(), 2u);
    EXPECT_EQ(code_of(trial), 0);
}

TEST(Agents, GiveUpBelowTheLeastNumberOfNodes) {
    Seen seen;
    const Trial trial = play(agents(2, 1, 2), reading(seen, {"RANK"}), lose(1));
    EXPECT_EQ(code_of(trial), 1);
    EXPECT_TRUE(trial.says(no_rank, "RendezvousTimeoutError"));
}

TEST(Agents, CannotMeetWithoutTheNodeThatKeepsTheirStore) {
    ClusterSettings settings = agents(2, 1);
    settings.store = StoreLife::agent;
    Seen seen;
    const Trial first = play(settings, reading(seen, {"RANK"}), lose(0));
    EXPECT_EQ(code_of(first), 1);
    EXPECT_TRUE(first.says(no_rank, "The connection to the C10d store has failed"));
    EXPECT_EQ(code_of(play(settings, reading(seen, {"RANK"}), lose(1))), 0);
    settings.store = StoreLife::service;
    EXPECT_EQ(code_of(play(settings, reading(seen, {"RANK"}), lose(0))), 0);
}

TEST(Agents, AFailureOfARankUsesUpARestart) {
    for (const int restarts : {0, 1}) {
        ClusterSettings settings = agents(2, 1);
        settings.restarts_max = restarts;
        const Trial trial = play(settings, [](World& world) {
            if (world.process() == 1 && world.attempt() == 0) throw RankFailure("RuntimeError: once");
            world.timer().sleep(10s);
        });
        EXPECT_EQ(code_of(trial), restarts == 1 ? 0 : 1);
    }
}

TEST(Agents, MayCountTheRestartsOfTheirOwnRanksAlone) {
    ClusterSettings settings = agents(2, 1);
    settings.restarts_max = 1;
    for (const bool own : {false, true}) {
        settings.agents_count_restarts = own;
        Seen seen;
        const Script read = reading(seen, {"TORCHELASTIC_RESTART_COUNT"}, 10s);
        (void)play(settings, [&](World& world) {
            if (world.process() == 1 && world.attempt() == 0) throw RankFailure("RuntimeError: once");
            read(world);
        });
        EXPECT_EQ(seen[0].back(), own ? "0" : "1");
        EXPECT_EQ(seen[1].back(), "1");
    }
}

// The first word under a key, attempt by attempt, of rank 0.
std::vector<std::string> first_words(ClusterSettings settings, const Setup& setup = {}) {
    std::vector<std::string> words;
    settings.restarts_max = 1;
    settings.nodes_min = 0;
    (void)play(
        settings,
        [&](World& world) {
            Store& store = world.rendezvous("node0:29500", world.process() == 0, 10s);
            const std::string word = store.set_once("word", std::to_string(world.attempt()));
            if (world.process() == 0) words.push_back(word);
            world.timer().sleep(1s);
            if (world.attempt() == 0) throw RankFailure("RuntimeError: once");
        },
        setup);
    return words;
}

TEST(KeptStore, TheRestartCountKeepsTheKeysOfEachRoundApart) {
    const std::function<void(Cluster&)> stuck = [](Cluster& cluster) {
        for (const Rank rank : {0, 1}) cluster.set_env(rank, "TORCHELASTIC_RESTART_COUNT", "0");
    };
    ClusterSettings settings = agents(2, 1);
    EXPECT_THAT(first_words(settings, stuck), ElementsAre("0", "1")) << "a store in rank 0 is new each time";
    for (const StoreLife life : {StoreLife::agent, StoreLife::service}) {
        settings.store = life;
        EXPECT_THAT(first_words(settings), ElementsAre("0", "1"));
        EXPECT_THAT(first_words(settings, stuck), ElementsAre("0", "0"));
    }
}

TEST(KeptStore, AServiceAloneOutlivesTheAgents) {
    for (const StoreLife life : {StoreLife::agent, StoreLife::service}) {
        ClusterSettings settings = agents(2, 1);
        settings.store = life;
        settings.nodes_min = 0;
        settings.requeue_after = 60s;
        std::vector<std::string> words;
        (void)play(
            settings,
            [&](World& world) {
                Store& store = world.rendezvous("node0:29500", false, 10s);
                const std::string word = store.set_once("word", std::to_string(world.attempt()));
                if (world.process() == 0) words.push_back(word);
                world.timer().sleep(10s);
            },
            [](Cluster& cluster) {
                for (const Rank rank : {0, 1}) cluster.set_env(rank, "TORCHELASTIC_RESTART_COUNT", "0");
                cluster.at(2s, [&] { cluster.preempt("preempted"); });
            });
        EXPECT_THAT(words, life == StoreLife::agent ? ElementsAre("0", "1") : ElementsAre("0", "0"));
    }
}

TEST(KeptStore, HasTheKeysOfAnotherJobUnderTheSameRunId) {
    ClusterSettings settings = agents(2, 1);
    settings.store = StoreLife::service;
    const auto joined = [&](const std::string& run_id) {
        settings.run_id = run_id;
        std::int64_t first = 0;
        (void)play(
            settings,
            [&](World& world) {
                Store& store = world.rendezvous("node0:29500", world.process() == 0, 10s);
                if (world.process() == 0) first = store.add("joined", 1);
            },
            [](Cluster& cluster) { EXPECT_TRUE(cluster.share_store("none", 5)); });
        return first;
    };
    EXPECT_EQ(joined("none"), 6);
    EXPECT_EQ(joined("mine"), 1);
    settings.store = StoreLife::rank;
    (void)play(
        settings, [](World&) {}, [](Cluster& cluster) { EXPECT_FALSE(cluster.share_store("none", 5)); });
}

}  // namespace
}  // namespace deadrank::sim
