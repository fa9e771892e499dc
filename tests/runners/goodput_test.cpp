// tests/runners/goodput_test.cpp — Goal: a life of a cluster keeps its books, gives back the process that it
// was drawn from, costs what theory says, and what the full simulator measures of a small job.
#include "runners/storm/goodput.h"

#include <cmath>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/record/payloads_training.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/format/scenario_file.h"
#include "scenarios/format/taxonomy_file.h"
#include "tests/support/catalog.h"

namespace deadrank::runners {
namespace {

using testing::HasSubstr;

// 1,024 nodes, a failure in eight hours.
ClusterModel plain() {
    ClusterModel model{.id = "plain", .source = "a test", .gpus = 8192, .days = 60};
    model.rate = 1.0 / 8 / model.gpus;
    model.causes = {{.name = "crash"}};
    model.spares = 1000;
    model.checkpoint_cost = 0.05;
    model.crash_noticed = 0;
    return model;
}

ClusterModel plain_for(double days) {
    ClusterModel model = plain();
    model.days = days;
    return model;
}

double goodput_of(const ClusterModel& model, int lives = 40) {
    return study_goodput(model, {.lives = lives}).variants.front().goodput.mean;
}

TEST(Goodput, HoursAddUpToTheLifeAndOneSeedIsOneLife) {
    ClusterModel model = plain();
    model.gaps = GapModel::Kind::weibull;
    model.shape = 0.7;
    model.bad_share = 0.02, model.bad_factor = 20;
    model.burn_in_days = 5, model.burn_in_factor = 3;
    model.together = {{"rack", 8, 0.1}};
    model.spares = 4;
    model.false_drains = 0.001, model.preemptions = 1;
    model.causes.push_back({.name = "hang", .noticed = Noticed::hang, .takes_node = false});
    const Life life = live(model, 3), again = live(model, 3);
    EXPECT_NEAR(life.hours.all(), model.days * 24, 1e-6);
    EXPECT_EQ(life.failed_at, again.failed_at);
    EXPECT_EQ(life.hours.useful, again.hours.useful);
    EXPECT_NE(life.failed_at, live(model, 4).failed_at);
    double lost = 0;
    for (const auto& [cause, hours] : life.lost) lost += hours;
    const Hours& h = life.hours;
    EXPECT_GT(lost, 0.9 * (h.again + h.noticing + h.waiting));
    EXPECT_LE(lost, h.again + h.noticing + h.restarting + h.waiting + 1e-6);
    EXPECT_GT(life.false_drains, 0u);
    EXPECT_GT(life.preemptions, 0u);
}

// J. Daly, FGCS 22 (2006), equation 20: work of length T takes M e^(R/M) (e^((t+c)/M) - 1) T/t where failures
// are memoryless, strike while the job restarts too, and are noticed at once.
TEST(Goodput, OfMemorylessFailuresIsDalys) {
    for (const double every : {0.5, 2.0, 6.0}) {
        ClusterModel model = plain();
        model.days = 600;
        model.checkpoint_every = every;
        const double m = model.between();
        const double daly =
            every / (m * std::exp(model.restart / m) * (std::exp((every + model.checkpoint_cost) / m) - 1));
        EXPECT_NEAR(goodput_of(model), daly, 0.01) << every;
    }
}

TEST(Goodput, IsBestNearYoungsAndDalysIntervals) {
    const GoodputStudy study = study_goodput(plain(), {.lives = 40});
    EXPECT_NEAR(study.young, std::sqrt(2 * 0.05 * 8), 1e-9);
    EXPECT_GT(study.best, study.young / 2);
    EXPECT_LT(study.best, study.young * 2);
    EXPECT_LT(study.daly, study.young) << "the cost of a save is part of its interval";
}

// What is drawn from a process of known shape is fitted again as that process, at the model's rate.
TEST(Goodput, FailuresOfALifeAreTheProcessThatTheModelNames) {
    ClusterModel model = plain();
    model.days = 1500;
    for (const auto& [kind, shape] :
         {std::pair{GapModel::Kind::weibull, 0.7}, {GapModel::Kind::gamma, 0.5}}) {
        model.gaps = kind;
        model.shape = shape;
        const Life life = live(model, 1);
        std::vector<double> gaps;
        for (std::size_t i = 1; i < life.failed_at.size(); ++i)
            gaps.push_back(life.failed_at[i] - life.failed_at[i - 1]);
        EXPECT_NEAR(fit_gaps(kind, gaps).shape, shape, 0.05);
        EXPECT_NEAR(static_cast<double>(life.failures), 1500 * 24 / 8.0, 450);
        EXPECT_LT(distance_of({GapModel::Kind::exponential, 1, 8}, gaps).chance, 0.001)
            << "the memoryless model must fail";
    }
    // Measured gaps are drawn as they are.
    model.empirical = {1, 1, 10};
    const Life life = live(model, 1);
    for (std::size_t i = 1; i < life.failed_at.size(); ++i) {
        const double gap = (life.failed_at[i] - life.failed_at[i - 1]) / 8 * 4;
        EXPECT_TRUE(std::abs(gap - 1) < 1e-6 || std::abs(gap - 10) < 1e-6) << gap;
    }
}

double dispersion(const Life& life, double nodes) {
    std::map<int, double> counts;
    for (const int node : life.failed_node) ++counts[node];
    const double mean = static_cast<double>(life.failed_node.size()) / nodes;
    double square = (nodes - static_cast<double>(counts.size())) * mean * mean;
    for (const auto& [node, count] : counts) square += (count - mean) * (count - mean);
    return square / (nodes - 1) / mean;
}

// Bad nodes that come back from repair as bad as they went are the offenders that tables show.
TEST(Goodput, BadNodesFailAgainAndAgain) {
    ClusterModel model = plain();
    model.days = 400;
    model.repair = 1;
    model.mended = 0;
    EXPECT_NEAR(dispersion(live(model, 1), model.nodes()), 1, 0.25) << "equal nodes, independent failures";
    model.bad_share = 0.02, model.bad_factor = 60;
    EXPECT_GT(dispersion(live(model, 1), model.nodes()), 5);
    model.mended = 1;  // each bad node is replaced once, by one that is bad as rarely as any
    EXPECT_LT(live(model, 1).failures, live(plain_for(400), 1).failures)
        << "with its bad nodes gone the cluster fails less";
}

TEST(Goodput, NewNodesFailMoreAndRacksTakeTheirNodesWithThem) {
    ClusterModel model = plain();
    model.days = 30;
    const auto usual = live(model, 1).failures;
    model.burn_in_days = 60, model.burn_in_factor = 3, model.all_new = true;
    EXPECT_GT(live(model, 1).failures, 2 * usual);
    model = plain();
    model.spares = 40;
    model.repair = 48;
    EXPECT_EQ(live(model, 1).hours.waiting, 0) << "six spares are away on average, and forty never";
    model.together = {{"rack", 32, 1.0}};
    EXPECT_GT(live(model, 1).hours.waiting, 24);
}

TEST(Goodput, EachChangePaysInTheDirectionThatItMust) {
    ClusterModel model = plain();
    model.causes = {{.name = "hang", .noticed = Noticed::hang}};
    model.spares = 3;
    model.false_drains = 0.001;
    const GoodputStudy study = study_goodput(model, {.lives = 20});
    std::map<std::string, Spread> gain;
    for (const LifeVariant& one : study.variants) gain[one.name] = one.gain;
    EXPECT_GT(gain["detector ten times as fast"].low, 0);
    EXPECT_LT(gain["time-out three times as long"].high, 0);
    EXPECT_LT(gain["no spares"].high, 0);
    EXPECT_GT(gain["1 % more spares"].mean, 0);
    EXPECT_GT(gain["no false drains"].mean, 0);
    EXPECT_GT(gain["restart in half the time"].low, 0);
}

// "Effective training time higher than 90 %": the paper. Of the times that the paper does not state ours are
// stated in the file; none is fitted to this number.
TEST(Goodput, OfLlama3IsAboutWhatItsPaperSays) {
    const std::string source = DEADRANK_SOURCE_DIRECTORY;
    const auto taxonomy = scenarios::load_taxonomy(source + "/scenarios/taxonomy.toml");
    ASSERT_TRUE(taxonomy);
    const auto model = load_cluster(source + "/scenarios/storms/clusters/llama_3.toml", *taxonomy);
    ASSERT_TRUE(model) << model.error().text();
    const GoodputStudy study = study_goodput(*model, {.lives = 40});
    EXPECT_NEAR(study.failures, 419, 15);
    EXPECT_GT(study.variants.front().goodput.low, 0.85);
    EXPECT_LT(study.variants.front().goodput.high, 0.97);
    const auto rsc = load_cluster(source + "/scenarios/storms/clusters/rsc.toml", *taxonomy);
    ASSERT_TRUE(rsc) << rsc.error().text();
    EXPECT_NEAR(rsc->between(), 1.8, 0.05);
    const auto sizes = goodput_by_size(*rsc, {1024, 16384, 131072}, {.lives = 10});
    EXPECT_GT(sizes[0].usual.mean, sizes[1].usual.mean);
    EXPECT_GT(sizes[1].usual.mean, sizes[2].usual.mean);
    EXPECT_THAT(goodput_figure(*rsc, sizes), HasSubstr("131072"));
}

// Each file's rate and weights give back what the paper states in other words: mean times between errors of
// the partition, and in its abstract memory errors on an H100 at 3.2 times the rate of an A100.
TEST(Goodput, OfDeltaHasTheRatesThatItsPaperStates) {
    const std::string source = DEADRANK_SOURCE_DIRECTORY;
    const auto taxonomy = scenarios::load_taxonomy(source + "/scenarios/taxonomy.toml");
    ASSERT_TRUE(taxonomy);
    const auto a100 = load_cluster(source + "/scenarios/storms/clusters/delta_a100.toml", *taxonomy);
    const auto h100 = load_cluster(source + "/scenarios/storms/clusters/delta_h100.toml", *taxonomy);
    ASSERT_TRUE(a100) << a100.error().text();
    ASSERT_TRUE(h100) << h100.error().text();
    const auto per_gpu = [](const ClusterModel& model, const std::string& cause) {
        double all = 0, own = 0;
        for (const Cause& one : model.causes) {
            all += one.weight;
            if (one.name == cause) own = one.weight;
        }
        return model.rate * own / all;
    };
    EXPECT_NEAR(1 / per_gpu(*a100, "GSP (Xid 119)") / a100->gpus, 6, 0.5);
    EXPECT_NEAR(1 / per_gpu(*h100, "GSP (Xid 119)") / h100->gpus, 1168, 5);
    const double memory_a = per_gpu(*a100, "Uncorrectable memory");
    const double memory_h = per_gpu(*h100, "Uncorrectable memory");
    EXPECT_NEAR(1 / memory_a, 283271, 1500);
    EXPECT_NEAR(1 / memory_h, 88768, 500);
    EXPECT_NEAR(memory_h / memory_a, 3.2, 0.05);
    const auto goodput = [](const ClusterModel& model) {
        return study_goodput(model, {.lives = 10}).variants.front().goodput;
    };
    EXPECT_LT(goodput(*a100).high, goodput(*h100).low);
}

// Seconds of virtual time from the job's first step to its end, in the full simulator.
double simulated(int steps, int every, std::vector<double> kills) {
    if (kills.empty()) kills = {1e6};  // a scenario has a fault: this one is long after the end
    static const tests::ShippedCatalog catalog;
    static const auto taxonomy =
        scenarios::load_taxonomy(std::string(DEADRANK_SOURCE_DIRECTORY) + "/scenarios/taxonomy.toml");
    std::string toml = fmt::format(
        "format = 1\n[bug]\nstage = \"fault_tolerance\"\nsymptom = \"restart_or_recovery_failure\"\n"
        "cause = \"misconfigured_resource_or_distributed_settings\"\n"
        "fix = \"resource_and_environment_configuration\"\n[cluster]\nnodes = 2\nrestarts_max = 1000\n"
        "monitor_interval = \"100ms\"\n[workload]\nkind = \"data_parallel\"\nsteps = {}\ncheckpoint_every = "
        "{}\n",
        steps, every);
    for (const double at : kills)
        toml += fmt::format("[[fault]]\nkind = \"kill_rank\"\nrank = 1\nwhen = {{ at = \"{:.0f}ms\" }}\n",
                            at * 1000);
    toml +=
        "[expect]\nsymptom = \"restart_or_recovery_failure\"\nblames = []\nwithin = \"45s\"\nothers = "
        "\"none\"\n"
        "reaction = \"error\"\n";
    const auto scenario = scenarios::parse_scenario(toml, "catalog/fault_tolerance/goodput.toml", *taxonomy,
                                                    catalog.vocabulary);
    EXPECT_TRUE(scenario) << (scenario ? "" : scenario.error().text());
    SimRunner runner;
    const auto trial = scenarios::resolve(*scenario, {1}, runner.capabilities(), catalog.vocabulary);
    EXPECT_TRUE(trial) << (trial ? "" : trial.error().text());
    const auto record = runner.run(trial->fault, {});
    EXPECT_TRUE(record) << (record ? "" : record.error().text());
    const auto ends = record->evidence.each<results::StepEnd>();
    EXPECT_FALSE(ends.empty());
    int last = 0;
    for (const auto* end : ends) last = std::max(last, static_cast<int>(end->as<results::StepEnd>()->step));
    EXPECT_EQ(last + 1, steps) << "the job came to its end";
    return static_cast<double>(ends.back()->at.count()) / 1e9;
}

// A small job in the full simulator, killed at a steady pace, beside the clock of a life: the cost of one
// restart and of one checkpoint are measured alone, the whole is then foretold.
TEST(Goodput, IsThatOfTheFullSimulatorAtASmallSize) {
    constexpr int steps = 1600, every = 20;
    const double begins = simulated(1, 0, {});
    const double step = (simulated(steps, 0, {}) - begins) / (steps - 1);
    const double save = (simulated(steps, every, {}) - simulated(steps, 0, {})) / (steps / every);
    // One kill costs the work since the last save and the rest, which is noticing and restarting.
    const double whole = simulated(steps, every, {}), cycle = every * step + save;
    const double first = begins - step + 3 * cycle + 0.5 * every * step;
    const double restart = simulated(steps, every, {first}) - whole - 0.5 * every * step;
    ASSERT_GT(restart, 0);
    std::vector<double> kills;
    const double pace = 2.7 * cycle + restart;
    for (int k = 1; k <= 25; ++k) kills.push_back(begins - step + k * pace);
    const double killed = simulated(steps, every, kills);
    ClusterModel model{.id = "small", .source = "a test", .gpus = 16, .days = 1000};
    model.rate = 3600 / pace / model.gpus;
    model.empirical = {1, 1};
    model.causes = {{.name = "kill", .takes_node = false}};
    model.checkpoint_every = every * step / 3600, model.checkpoint_cost = save / 3600;
    model.restart = restart / 3600, model.crash_noticed = 0;
    const double foretold = live(model, 1).hours.goodput();
    // Work done until the last kill, by the model; what is left runs undisturbed.
    const double done = std::min(25 * pace * foretold, steps * step);
    const double rest = (steps * step - done) * cycle / (every * step);
    const double expected = begins - step + 25 * pace + restart + rest;
    EXPECT_LT(foretold, 0.9) << "failures must cost something here";
    ASSERT_LT(done, steps * step) << "the last kill comes before the end";
    EXPECT_NEAR(killed, expected, 0.03 * expected);
    RecordProperty("foretold_over_measured", fmt::format("{:.4f}", expected / killed));
}

TEST(ClusterModels, AreRefusedWithTheirLine) {
    const std::string source = DEADRANK_SOURCE_DIRECTORY;
    const auto taxonomy = scenarios::load_taxonomy(source + "/scenarios/taxonomy.toml");
    ASSERT_TRUE(taxonomy);
    const auto refused = [&](const std::string& text) {
        const std::string at = testing::TempDir() + "deadrank-cluster.toml";
        std::ofstream(at) << text;
        const auto model = load_cluster(at, *taxonomy);
        EXPECT_FALSE(model) << text;
        return model ? std::string() : model.error().text();
    };
    EXPECT_THAT(refused("table = \"lama_3\"\n"), HasSubstr("llama_3"));
    EXPECT_THAT(refused("table = \"llama_3\"\n[cluster]\ngpu = 3\n"), HasSubstr(":3"));
    EXPECT_THAT(refused("table = \"llama_3\"\n[gaps]\nprocess = \"weibul\"\n"), HasSubstr("weibull"));
    EXPECT_THAT(refused("table = \"llama_3\"\n[[cause]]\nname = \"Nic\"\n"), HasSubstr("NIC"));
    EXPECT_THAT(refused("table = \"llama_3\"\n[job]\nrestart = \"soon\"\n"), HasSubstr("duration"));
    EXPECT_THAT(refused("per_1000_node_days = 6\n"), HasSubstr("source"));
    EXPECT_THAT(refused("source = \"x\"\n"), HasSubstr("how often"));
}

}  // namespace
}  // namespace deadrank::runners
