// tests/sim/workloads/resizing_test.cpp — Goal: a job goes on with another number of ranks than it began
// with, or than saved its checkpoint, and reads on where those stopped; what it cannot do is refused on
// paper.
#include <gmock/gmock.h>
#include <set>

#include "results/detectors/detector.h"
#include "scenarios/format/scenario_file.h"
#include "tests/scenarios/sample.h"
#include "tests/support/healthy_run.h"

namespace deadrank {
namespace {

using results::DataBatch;
using results::Evidence;
using results::Rank;
using scenarios::FaultSpec;
using scenarios::Value;
using scenarios::ValueType;
using testing::HasSubstr;

std::vector<std::int64_t> samples_of(const Evidence& evidence, const DataBatch& batch) {
    std::vector<std::int64_t> ids;
    const std::string text(evidence.text(batch.samples));
    for (std::size_t at = 0; at < text.size();) {
        ids.push_back(std::stoll(text.substr(at)));
        at = std::min(text.find(',', at), text.size() - 1) + 1;
    }
    return ids;
}

std::vector<std::string> symptoms(const Evidence& evidence) {
    std::vector<std::string> found;
    for (const auto& finding : results::detect(evidence, results::all_detectors()))
        found.push_back(finding.symptom + ": " + finding.says);
    return found;
}

int code_of(const Evidence& evidence) {
    const auto stops = evidence.each<results::JobStop>();
    return stops.empty() ? -1 : stops[0]->as<results::JobStop>()->code;
}

FaultSpec lost_node(std::int64_t node, std::int64_t step) {
    FaultSpec fault{.kind = "lose_node", .parameters = {}, .when = {}};
    fault.parameters["node"] = {.type = ValueType::nodes, .list = {node}};
    fault.when.step = step;
    return fault;
}

// No sample that was read up to the checkpoint is read again, and none between is left out.
TEST(FewerNodes, GoOnFromTheCheckpointAndReadOn) {
    auto plan = tests::plan_of("data_parallel", {{"steps", "8"}, {"checkpoint_every", "2"}, {"batch", "2"}},
                               {{"nodes", "2"}, {"gpus_per_node", "2"}, {"nodes_min", "1"}});
    plan.faults = {lost_node(1, 5)};
    const auto record = tests::played(plan);
    const Evidence& evidence = record.evidence;
    ASSERT_EQ(code_of(evidence), 0);
    EXPECT_TRUE(record.truth.completed()) << "nothing is missing that the job waits for";
    std::map<std::int64_t, std::set<std::int64_t>> first, second;
    bool again = false;
    for (const results::Event& event : evidence.events()) {
        again |= event.as<results::Restart>() != nullptr;
        const auto* batch = event.as<DataBatch>();
        if (!batch) continue;
        for (const std::int64_t id : samples_of(evidence, *batch))
            (again ? second : first)[batch->step].insert(id);
    }
    ASSERT_EQ(second.begin()->first, 4) << "step 3 was saved last";
    EXPECT_EQ(second.rbegin()->first, 7);
    EXPECT_EQ(first[0].size(), 8u);
    EXPECT_EQ(second[4].size(), 4u) << "two ranks are left";
    std::set<std::int64_t> before;
    for (std::int64_t step = 0; step < 4; ++step) before.insert(first[step].begin(), first[step].end());
    for (const auto& [step, ids] : second) {
        for (const std::int64_t id : ids) EXPECT_FALSE(before.contains(id)) << id << " in step " << step;
    }
    std::set<std::int64_t> next = second[4];
    next.insert(second[5].begin(), second[5].end());
    EXPECT_EQ(next, first[4]) << "two steps of two ranks read what one of four has read";
    EXPECT_THAT(symptoms(evidence), testing::IsEmpty());
}

TEST(FewerNodes, AreJoinedAgainByTheLostOne) {
    auto plan = tests::plan_of(
        "data_parallel",
        {{"steps", "12"}, {"checkpoint_every", "2"}, {"step_time", "5s"}, {"load", "agreed"}},
        {{"nodes", "2"}, {"gpus_per_node", "2"}, {"nodes_min", "1"}, {"node_returns_after", "40s"}});
    plan.faults = {lost_node(0, 3)};
    const auto record = tests::played(plan);
    ASSERT_TRUE(record.truth.completed());
    std::set<Rank> last;
    for (const results::Event* event : record.evidence.each<results::StepEnd>())
        if (event->as<results::StepEnd>()->step == 11) last.insert(event->rank);
    EXPECT_EQ(last.size(), 4u);
    EXPECT_EQ(record.evidence.each<results::Restart>().size(), 2u);
    EXPECT_THAT(symptoms(record.evidence), testing::IsEmpty());
}

FaultSpec killed(std::int64_t rank, std::int64_t step) {
    FaultSpec fault{.kind = "kill_rank", .parameters = {}, .when = {}};
    fault.parameters["rank"] = {.type = ValueType::ranks, .list = {rank}};
    fault.when.step = step;
    return fault;
}

FaultSpec with_count(std::vector<std::int64_t> ranks, const std::string& count) {
    FaultSpec fault{.kind = "set_env", .parameters = {}, .when = {}};
    fault.parameters["rank"] = {.type = ValueType::ranks, .list = std::move(ranks)};
    fault.parameters["name"] = {.type = ValueType::text, .text = "TORCHELASTIC_RESTART_COUNT"};
    fault.parameters["value"] = {.type = ValueType::text, .text = count};
    fault.when.at_start = true;
    return fault;
}

TEST(RestartCounts, ThatDifferBetweenNodesKeepThemFromMeeting) {
    const tests::Words settings = {{"steps", "6"}, {"checkpoint_every", "2"}, {"store_timeout", "60s"}};
    const tests::Words cluster = {
        {"nodes", "2"}, {"gpus_per_node", "2"}, {"restarts_max", "1"}, {"store", "agent"}};
    auto plan = tests::plan_of("data_parallel", settings, cluster);
    plan.faults = {killed(1, 3)};
    EXPECT_TRUE(tests::played(plan).truth.completed()) << "each round has keys of its own";
    plan.faults.push_back(with_count({2, 3}, "0"));
    const auto apart = tests::played(plan);
    EXPECT_FALSE(apart.truth.completed());
    EXPECT_THAT(symptoms(apart.evidence), testing::Contains(HasSubstr("restart_or_recovery_failure")));
    plan.faults.back() = with_count({0, 1, 2, 3}, "0");
    EXPECT_FALSE(tests::played(plan).truth.completed()) << "the id of the first round is still there";
    auto own = tests::plan_of("data_parallel", settings,
                              {{"nodes", "2"},
                               {"gpus_per_node", "2"},
                               {"restarts_max", "1"},
                               {"store", "agent"},
                               {"restart_count", "agent"}});
    own.faults = {killed(1, 3)};
    EXPECT_FALSE(tests::played(own).truth.completed());
}

TEST(RunIds, TwoJobsOfOneNameDisturbEachOther) {
    const auto completes = [](const std::string& run_id) {
        auto plan = tests::plan_of(
            "data_parallel", {{"steps", "3"}, {"store_timeout", "60s"}},
            {{"nodes", "2"}, {"gpus_per_node", "2"}, {"store", "service"}, {"run_id", run_id}});
        FaultSpec fault{.kind = "share_store", .parameters = {}, .when = {.at_start = true}};
        fault.parameters["run_id"] = {.type = ValueType::text, .text = "none"};
        plan.faults = {fault};
        return tests::played(plan).truth.completed();
    };
    EXPECT_FALSE(completes("none"));
    EXPECT_TRUE(completes("mine"));
}

// Samples of the first step of a job that begins with another one's checkpoint.
std::set<std::int64_t> first_samples(const std::string& workload, const std::string& saved_ranks) {
    const auto record = tests::played(tests::plan_of(
        workload, {{"steps", "4"}, {"saved_ranks", saved_ranks}, {"saved_steps", "3"}, {"batch", "1"}},
        {{"nodes", "2"}, {"gpus_per_node", "4"}}));
    EXPECT_TRUE(record.truth.completed());
    EXPECT_THAT(symptoms(record.evidence), testing::IsEmpty());
    std::set<std::int64_t> ids;
    for (const results::Event* event : record.evidence.each<DataBatch>()) {
        EXPECT_EQ(event->as<DataBatch>()->step, 3);
        for (const std::int64_t id : samples_of(record.evidence, *event->as<DataBatch>())) ids.insert(id);
    }
    return ids;
}

TEST(SavedSteps, ReadOnAfterWhatMoreOrFewerRanksHadRead) {
    for (const char* workload : {"data_parallel", "zero", "fsdp"}) {
        const auto record = tests::played(tests::plan_of(workload, {{"steps", "9"}, {"batch", "1"}},
                                                         {{"nodes", "2"}, {"gpus_per_node", "4"}}));
        std::map<std::int64_t, std::set<std::int64_t>> usual;
        for (const results::Event* event : record.evidence.each<DataBatch>()) {
            const auto* batch = event->as<DataBatch>();
            for (const std::int64_t id : samples_of(record.evidence, *batch)) usual[batch->step].insert(id);
        }
        EXPECT_EQ(first_samples(workload, "8"), usual[3]) << workload;
        EXPECT_EQ(first_samples(workload, "16"), usual[6]) << workload;
        EXPECT_EQ(first_samples(workload, "4"), usual[2]) << workload << ": one and a half steps, rounded up";
    }
}

TEST(Reshard, GrowsAsItShrinks) {
    for (const auto& [before, after] : {std::pair("4", "8"), std::pair("3", "8"), std::pair("8", "3")}) {
        const auto record =
            tests::played(tests::plan_of("reshard", {{"ranks_before", before}, {"ranks_after", after}},
                                         {{"nodes", "2"}, {"gpus_per_node", "4"}}));
        ASSERT_TRUE(record.truth.completed()) << before << " to " << after;
        EXPECT_THAT(symptoms(record.evidence), testing::IsEmpty()) << before << " to " << after;
        std::set<Rank> first, last;
        for (const results::Event* event : record.evidence.each<results::StepEnd>()) {
            if (event->as<results::StepEnd>()->step == 0) first.insert(event->rank);
            if (event->as<results::StepEnd>()->step == 7) last.insert(event->rank);
        }
        EXPECT_EQ(std::to_string(first.size()), before);
        EXPECT_EQ(std::to_string(last.size()), after);
    }
}

// The sentence with which a file is refused when it is resolved, or "resolves".
std::string refused(const std::string& cluster, const std::string& workload = "kind = \"data_parallel\"",
                    const std::string& fault = "kind = \"kill_rank\"\nrank = 1") {
    const std::string toml =
        "format = 1\n[bug]\nstage = \"communication\"\nsymptom = \"collective_deadlock_hang\"\n"
        "cause = \"unpropagated_rank_failure\"\nfix = \"validation_and_failure_handling\"\n[cluster]\n" +
        cluster + "\n[workload]\n" + workload + "\n[[fault]]\n" + fault +
        "\n[expect]\n[heal]\nfault = \"none\"\n";
    const auto words = runners::vocabulary();
    const auto scenario =
        scenarios::parse_scenario(toml, "communication/one.toml", tests::sample_taxonomy(), words);
    if (!scenario) return scenario.error().text();
    const auto trial = scenarios::resolve(*scenario, {1}, runners::SimRunner().capabilities(), words);
    return trial ? "resolves" : trial.error().text();
}

TEST(Meeting, ContradictionsAreRefusedOnPaper) {
    EXPECT_EQ(refused("nodes_min = 1"), "resolves");
    EXPECT_THAT(refused("nodes_min = 3"), HasSubstr("nodes_min = 3 of 2 nodes"));
    EXPECT_THAT(refused("nodes_min = 1\nlauncher = \"mpirun\""), HasSubstr("mpirun has no agents"));
    EXPECT_THAT(refused("nodes_min = 1", "kind = \"pipeline\""),
                HasSubstr("pipeline cannot go on from its checkpoint with another number of ranks"));
    EXPECT_THAT(refused("nodes_min = 1", "kind = \"data_parallel\"\nreference = true"),
                HasSubstr("another number of ranks trains with other samples"));
    EXPECT_THAT(refused("node_returns_after = \"60s\""),
                HasSubstr("no agent takes a node in without nodes_min"));
    EXPECT_THAT(refused("run_id = \"mine\""),
                HasSubstr("run_id does nothing while the store lives in rank 0"));
    EXPECT_THAT(refused("store = \"agent\"\nlauncher = \"bare\""),
                HasSubstr("bare has no agents that keep a store"));
    EXPECT_THAT(refused("", "kind = \"data_parallel\"", "kind = \"share_store\""),
                HasSubstr("no other job meets in a store of rank 0"));
    EXPECT_EQ(refused("store = \"service\"", "kind = \"data_parallel\"", "kind = \"share_store\""),
              "resolves");
    EXPECT_THAT(refused("node_interfaces = { node7 = \"ens5\" }"), HasSubstr("there is no node 'node7'"));
    EXPECT_EQ(refused("node_interfaces = { node1 = \"ens5\" }"), "resolves");
}

}  // namespace
}  // namespace deadrank
