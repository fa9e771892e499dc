// tests/runners/explore/explore_test.cpp — A program of the user's under faults: its moments, how it ended, and
// the map of all its calls.
#include <fstream>
#include <gmock/gmock.h>

#include "runners/backends/process/mpirun.h"
#include "runners/backends/process/scratch.h"
#include "runners/backends/sim/managed_runner.h"
#include "runners/explore/moments.h"
#include "runners/explore/program_sweep.h"
#include "scenarios/format/fault_expression.h"
#include "scenarios/format/plan_file.h"
#include "runners/extension/extension.h"

namespace deadrank::runners::explore {
namespace {

using testing::ElementsAre;

const scenarios::Vocabulary& testing_vocabulary() {
    static const scenarios::Vocabulary words = vocabulary();
    return words;
}
using testing::HasSubstr;

results::Evidence two_ranks_and_two_steps() {
    results::Evidence evidence;
    const auto at = [&](std::int64_t time, results::Rank rank, results::Payload what) {
        evidence.record({results::Time{time}, rank, std::move(what)});
    };
    at(0, 0, results::CollectiveEnter{.op = results::Op::broadcast});
    at(0, 1, results::CollectiveEnter{.op = results::Op::broadcast});
    for (std::int64_t step = 0; step < 2; ++step) {
        for (results::Rank rank : {1, 0}) {
            at(10 + step, rank, results::StepBegin{.step = step});
            at(10 + step, rank, results::CollectiveEnter{.op = results::Op::all_reduce});
            at(10 + step, rank, results::StepEnd{.step = step});
        }
    }
    at(20, 0, results::CheckpointSave{.step = 1});
    evidence.finish(results::Time{30});
    return evidence;
}

std::vector<std::string> texts(const std::vector<ProgramMoment>& moments) {
    std::vector<std::string> all;
    for (const ProgramMoment& moment : moments)
        all.push_back(std::to_string(moment.rank) + " " + moment.text() + " in " + std::to_string(moment.step));
    return all;
}

TEST(Moments, AreCountedForEachRankAndKnowTheirStep) {
    const auto evidence = two_ranks_and_two_steps();
    EXPECT_THAT(texts(list_moments(evidence, MomentKind::calls)),
                ElementsAre("0 before broadcast 1 in -1", "0 before all_reduce 1 in 0", "0 before all_reduce 2 in 1",
                            "1 before broadcast 1 in -1", "1 before all_reduce 1 in 0",
                            "1 before all_reduce 2 in 1"));
    EXPECT_THAT(texts(list_moments(evidence, MomentKind::steps)),
                ElementsAre("0 at step 0 in 0", "0 at step 1 in 1", "1 at step 0 in 0", "1 at step 1 in 1"));
    EXPECT_THAT(texts(list_moments(evidence, MomentKind::files)), ElementsAre("0 before checkpoint_save 1 in -1"));
    EXPECT_EQ(describe_moments(evidence, 0),
              "rank 0 has all_reduce × 2, broadcast × 1, checkpoint_save × 1, 2 steps (0 to 1)");
}

TEST(Moments, OfARestartedJobAreThoseOfItsFirstAttempt) {
    auto evidence = two_ranks_and_two_steps();
    const std::size_t before = list_moments(evidence, MomentKind::calls).size();
    evidence.record({results::Time{40}, results::no_rank, results::Restart{.attempt = 1}});
    evidence.record({results::Time{41}, 0, results::CollectiveEnter{.op = results::Op::all_reduce}});
    EXPECT_EQ(list_moments(evidence, MomentKind::calls).size(), before);
}

constexpr const char* trainer = R"(
import sys, os, torch, torch.distributed as dist
dist.init_process_group("gloo")
torch.manual_seed(1)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = torch.Generator().manual_seed(100 + dist.get_rank())
for step in range(3):
    loss = model(torch.randn(4, 8, generator=data)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
if "save" in sys.argv and dist.get_rank() == 0:
    try:
        torch.save(model.state_dict(), "model.pt")
    except Exception:
        pass
if "random" in sys.argv:
    drawn = torch.tensor([int.from_bytes(open("/dev/urandom", "rb").read(4), "little") % 1_000_000])
    dist.broadcast(drawn, 0)
    dist.all_reduce(torch.zeros(1 + int(drawn)))
if "fail" in sys.argv:
    raise ValueError("no such option")
)";

class DeviceExplore : public testing::Test {
protected:
    static void SetUpTestSuite() { warm_ = std::make_shared<WarmPython>(); }
    static void TearDownTestSuite() { warm_.reset(); }

    void SetUp() override {
        const auto python = best_python();
        if (!python) GTEST_SKIP() << python.error().text();
        auto scratch = Scratch::make("", {});
        ASSERT_TRUE(scratch) << scratch.error().text();
        scratch_.emplace(std::move(*scratch));
        settings_.python = python->program;
        settings_.package = std::filesystem::path(DEADRANK_SOURCE_DIRECTORY) / "sim/managed/python";
        settings_.hook = std::filesystem::path(DEADRANK_SOURCE_DIRECTORY) / "runners/backends/local/hook";
        settings_.directory = scratch_->path();
        settings_.warm = warm_;
        std::ofstream(scratch_->path() / "train.py") << trainer;
        settings_.command.launcher = "torchrun";
        settings_.command.ranks_per_node = 2;
        settings_.command.argv = {"train.py"};
    }

    ProgramRun inject(const std::string& line, std::vector<std::string> arguments = {}) {
        settings_.command.argv.insert(settings_.command.argv.end(), arguments.begin(), arguments.end());
        ManagedRunner runner(settings_);
        ProgramTrials trials(plan_of(settings_.command, {1}), {});
        auto fault = scenarios::read_fault_expression(line, testing_vocabulary());
        if (!fault) throw std::runtime_error(fault.error().text());
        const auto plan = scenarios::with_faults(trials.healthy(), {*fault}, testing_vocabulary());
        if (!plan) throw std::runtime_error(plan.error().text());
        auto run = trials.play(*plan, runner);
        if (!run) throw std::runtime_error(run.error().text());
        return std::move(*run);
    }

    ManagedSettings settings_;
    std::optional<Scratch> scratch_;
    static std::shared_ptr<WarmPython> warm_;
};

std::shared_ptr<WarmPython> DeviceExplore::warm_;

TEST_F(DeviceExplore, AKilledRankIsNamedByTheLaunchersError) {
    const ProgramRun run = inject("kill rank 1 before all_reduce 2");
    EXPECT_EQ(run.outcome, Outcome::clear_error) << run.says;
    EXPECT_EQ(run.alarm(), "named");
    EXPECT_TRUE(meets("clear_error", run));
    EXPECT_FALSE(meets("recovers", run));
}

TEST_F(DeviceExplore, ARestartThatReachesTheSameResultIsARecovery) {
    settings_.command.restarts_max = 1;
    const ProgramRun run = inject("kill rank 1 before all_reduce 2");
    EXPECT_EQ(run.outcome, Outcome::recovered) << run.says;
    EXPECT_TRUE(meets("recovers", run));
    EXPECT_FALSE(meets("completes", run));
}

TEST_F(DeviceExplore, AFlippedExponentIsASilentWrongResult) {
    const ProgramRun run = inject("flip bit 30 of all_reduce 2 rank 1");
    EXPECT_EQ(run.outcome, Outcome::wrong_result) << run.says;
    EXPECT_THAT(run.says, HasSubstr("loss"));
}

TEST_F(DeviceExplore, ARankThatStandsStillIsAWatchdogAfterMinutes) {
    const ProgramRun run = inject("stop rank 0 before all_reduce 2");
    EXPECT_EQ(run.outcome, Outcome::watchdog) << run.says;
    EXPECT_THAT(run.says, HasSubstr("30 min"));
}

TEST_F(DeviceExplore, AShortDelayAffectsNothing) {
    const ProgramRun run = inject("delay all_reduce 2 30s rank 0");
    EXPECT_EQ(run.outcome, Outcome::unaffected) << run.says;
    EXPECT_TRUE(meets("completes", run));
}

TEST_F(DeviceExplore, ACheckpointLostInSilenceIsNotUnaffected) {
    const ProgramRun run = inject("disk full before checkpoint_save 1", {"save"});
    EXPECT_EQ(run.outcome, Outcome::lost_checkpoint) << run.says;
    EXPECT_THAT(run.says, HasSubstr("model.pt"));
}

constexpr const char* resuming = R"(
import os, torch, torch.distributed as dist
dist.init_process_group("gloo")
weights, step = torch.zeros(64), 0
if os.path.exists("last.pt"):
    saved = torch.load("last.pt")
    weights, step = saved["weights"], saved["step"]
while step < 4:
    part = torch.full((64,), float(step + dist.get_rank()))
    dist.all_reduce(part)
    weights += part
    step += 1
    if dist.get_rank() == 0:
        torch.save({"weights": weights, "step": step}, "last.pt")
    dist.barrier()
)";

// Fails if a fault of the disk acts on the simulated file alone, and the program reads the real one whole.
TEST_F(DeviceExplore, ATornCheckpointIsWhatTheRestartFinds) {
    settings_.command.restarts_max = 1;
    std::ofstream(scratch_->path() / "train.py") << resuming;
    const char* kill = "kill rank 1 before all_reduce 4";
    EXPECT_EQ(inject(kill).outcome, Outcome::recovered);
    for (const char* fault : {"tear write before checkpoint_save 3", "corrupt checkpoint how=truncate before all_reduce 7"}) {
        ManagedRunner runner(settings_);
        ProgramTrials trials(plan_of(settings_.command, {1}), {});
        std::vector<scenarios::FaultSettings> faults;
        for (const char* line : {fault, kill}) faults.push_back(*scenarios::read_fault_expression(line, testing_vocabulary()));
        const auto plan = scenarios::with_faults(trials.healthy(), faults, testing_vocabulary());
        ASSERT_TRUE(plan) << plan.error().text();
        const auto run = trials.play(*plan, runner);
        ASSERT_TRUE(run) << run.error().text();
        EXPECT_NE(name_of(run->outcome), "recovered") << fault << ": " << run->says;
        EXPECT_NE(name_of(run->outcome), "unaffected") << fault << ": " << run->says;
    }
}

TEST_F(DeviceExplore, AMomentThatNeverComesNamesThoseThatExist) {
    const ProgramRun run = inject("kill rank 1 before all_reduce 99");
    EXPECT_EQ(run.outcome, Outcome::never_came);
    EXPECT_THAT(run.says, HasSubstr("all_reduce × 3"));
}

ProgramSweep sweep_of(ProgramTrials& trials, const ManagedSettings& settings, std::vector<std::string> faults) {
    ProgramSweepOptions options{.faults = std::move(faults), .ranks = {}, .steps = {}};
    options.words = &testing_vocabulary();
    options.workers.make_runner = [&] { return std::make_unique<ManagedRunner>(settings); };
    options.workers.threads = 2;
    auto sweep = sweep_program(trials, options);
    if (!sweep) throw std::runtime_error(sweep.error().text());
    return std::move(*sweep);
}

// Fails if a copy lacks anything of the run's state, or if the copied run differs from one without other faults.
TEST_F(DeviceExplore, ARunThatIsCopiedAtItsMomentIsTheRunFromTheStart) {
    settings_.command.argv.push_back("save");
    ManagedRunner runner(settings_);
    if (const auto can = runner.can_branch(); !can) GTEST_SKIP() << can.error().what;
    ProgramTrials trials(plan_of(settings_.command, {1}), {});
    const ProgramSweep sweep = sweep_of(trials, settings_, {"kill", "flip bit 30", "disk full"});
    EXPECT_EQ(sweep.copied, sweep.places.size()) << sweep.obstacle;
    EXPECT_GT(sweep.places.size(), 20U);
    for (const SweepPlace& place : sweep.places) {
        const auto run = trials.play(place.plan, runner);
        ASSERT_TRUE(run) << run.error().text();
        EXPECT_EQ(place.trace_hash, run->fault.record.trace_hash) << place.line;
        EXPECT_EQ(name_of(place.outcome), name_of(run->outcome)) << place.line;
        EXPECT_EQ(place.says, run->says) << place.line;
    }
}

constexpr const char* writer = R"(
import os, torch, torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
for step in range(4):
    with open(f"log{rank}", "a") as log:
        log.write("line\n")
    with open(f"log{rank}") as log:
        lines = len(log.readlines())
    assert lines == step + 2, f"the log has {lines} lines in step {step}"
    dist.all_reduce(torch.ones(1))
)";

// Fails if copies write into one file, or into the user's.
TEST_F(DeviceExplore, EachCopyOfARunHasFilesOfItsOwn) {
    std::ofstream(scratch_->path() / "train.py") << writer;
    for (const char* name : {"log0", "log1"}) std::ofstream(scratch_->path() / name) << "before\n";
    ManagedRunner runner(settings_);
    if (const auto can = runner.can_branch(); !can) GTEST_SKIP() << can.error().what;
    ProgramTrials trials(plan_of(settings_.command, {1}), {});
    const ProgramSweep sweep = sweep_of(trials, settings_, {"skip"});
    EXPECT_EQ(sweep.copied, sweep.places.size()) << sweep.obstacle;
    EXPECT_EQ(sweep.places.size(), 8U);
    for (const SweepPlace& place : sweep.places) EXPECT_EQ(place.says.find("the log has"), std::string::npos) << place.says;
    for (const char* name : {"log0", "log1"}) {
        std::ifstream log(scratch_->path() / name);
        const std::string text{std::istreambuf_iterator<char>(log), {}};
        EXPECT_EQ(text, "before\n");
    }
}

// A thread of the program's keeps it from being copied: each run begins anew, in a process of its own.
TEST_F(DeviceExplore, ARunThatCannotBeCopiedIsPlayedFromTheStart) {
    const std::string with_thread =
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n";
    std::ofstream(scratch_->path() / "train.py") << with_thread << trainer;
    ManagedRunner runner(settings_);
    if (const auto can = runner.can_branch(); !can) GTEST_SKIP() << can.error().what;
    ProgramTrials trials(plan_of(settings_.command, {1}), {});
    const ProgramSweep sweep = sweep_of(trials, settings_, {"kill"});
    EXPECT_EQ(sweep.copied, 0U);
    EXPECT_THAT(sweep.obstacle, HasSubstr("threads"));
    for (const SweepPlace& place : sweep.places) EXPECT_EQ(name_of(place.outcome), "clear_error") << place.says;
}

TEST_F(DeviceExplore, AProgramThatFailsByItselfIsRefusedInItsOwnWords) {
    settings_.command.argv.push_back("fail");
    ManagedRunner runner(settings_);
    ProgramTrials trials(plan_of(settings_.command, {1}), {});
    const auto control = trials.control(runner);
    ASSERT_FALSE(control);
    EXPECT_THAT(control.error().what, HasSubstr("ValueError: no such option"));
}

TEST_F(DeviceExplore, AProgramThatDoesNotRepeatIsToldWithItsFirstDifference) {
    settings_.command.argv.push_back("random");
    ManagedRunner runner(settings_);
    ProgramTrials trials(plan_of(settings_.command, {1}), {});
    const auto differs = trials.difference_of_two(runner);
    ASSERT_TRUE(differs) << differs.error().text();
    EXPECT_THAT(*differs, HasSubstr("event "));
    settings_.command.argv.pop_back();
    ProgramTrials steady(plan_of(settings_.command, {1}), {});
    ManagedRunner other(settings_);
    EXPECT_EQ(steady.difference_of_two(other).value(), "");
}

TEST_F(DeviceExplore, ASweepPlaysEachRankAtEachCallAndEqualEndsAreOne) {
    ProgramTrials trials(plan_of(settings_.command, {1}), {});
    ProgramSweepOptions options;
    options.faults = {"kill", "flip bit 30", "disk full"};
    options.steps = {2};
    options.words = &testing_vocabulary();
    options.workers.make_runner = [&] { return std::make_unique<ManagedRunner>(settings_); };
    options.workers.threads = 2;
    const auto sweep = sweep_program(trials, options);
    ASSERT_TRUE(sweep) << sweep.error().text();
    EXPECT_EQ(sweep->planned, 4U) << "two faults, two ranks, one call in that step";
    EXPECT_EQ(sweep->counts(0).at(Outcome::clear_error), 2U);
    EXPECT_EQ(sweep->counts(1).at(Outcome::wrong_result), 2U);
    EXPECT_THAT(sweep->left_out, ElementsAre(HasSubstr("disk full: the program has no such moment")));
    for (const SweepPlace& place : sweep->places) EXPECT_EQ(sweep->places[place.like].outcome, place.outcome);
    EXPECT_EQ(sweep->places.front().line, "kill rank 0 before all_reduce 3");
}

TEST_F(DeviceExplore, ASweepRefusesAFaultThatNamesItsMoment) {
    ProgramTrials trials(plan_of(settings_.command, {1}), {});
    ProgramSweepOptions options;
    options.faults = {"kill at step 1"};
    options.words = &testing_vocabulary();
    options.workers.make_runner = [&] { return std::make_unique<ManagedRunner>(settings_); };
    const auto sweep = sweep_program(trials, options);
    ASSERT_FALSE(sweep);
    EXPECT_THAT(sweep.error().what, HasSubstr("names its moment"));
}

}  // namespace
}  // namespace deadrank::runners::explore
