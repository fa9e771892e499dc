// tests/runners/explore/explore_test.cpp — A program of the user's under faults: its moments, how it ended, and
// the map of all its calls.
#include <algorithm>
#include <fstream>
#include <gmock/gmock.h>
#include <set>

#include "runners/backends/process/mpirun.h"
#include "runners/backends/process/scratch.h"
#include "runners/backends/sim/managed_runner.h"
#include "runners/explore/moments.h"
#include "runners/explore/program_sweep.h"
#include "runners/extension/extension.h"
#include "scenarios/format/fault_expression.h"
#include "scenarios/format/plan_file.h"

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
              "rank 0 has all_reduce × 2, broadcast × 1, checkpoint_save × 1, 2 steps (0,1)");
}

// A trainer that goes on from a checkpoint begins at a later step.
TEST(Moments, NameTheStepsAndPhasesThatThereAre) {
    results::Evidence evidence;
    std::int64_t now = 0;
    const auto add = [&](results::Payload what) {
        evidence.record({results::Time{++now}, 1, std::move(what)});
    };
    for (std::int64_t step = 5; step < 8; ++step) {
        add(results::StepBegin{.step = step});
        for (const results::Phase phase : {results::Phase::forward, results::Phase::backward})
            add(results::PhaseBegin{.step = step, .phase = phase});
        add(results::StepEnd{.step = step});
    }
    add(results::PhaseBegin{.step = 7, .phase = results::Phase::none});
    add(results::PhaseBegin{.step = 7, .phase = results::Phase::checkpoint});
    evidence.finish(results::Time{++now});
    EXPECT_EQ(describe_moments(evidence, 1),
              "rank 1 has 3 steps (5-7), the phases backward × 3, checkpoint × 1, forward × 3");
    EXPECT_EQ(describe_moments(evidence, 0), "rank 0 makes no call and no step");
    EXPECT_THAT(texts(list_moments(evidence, MomentKind::phases)),
                ElementsAre("1 in forward 1 in 5", "1 in backward 1 in 5", "1 in forward 2 in 6",
                            "1 in backward 2 in 6", "1 in forward 3 in 7", "1 in backward 3 in 7",
                            "1 in checkpoint 1 in -1"));
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
        settings_.command.launcher = scenarios::LauncherKind::torchrun;
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
    EXPECT_TRUE(meets(explore::WantedEnd::clear_error, run));
    EXPECT_FALSE(meets(explore::WantedEnd::recovers, run));
}

TEST_F(DeviceExplore, ARestartThatReachesTheSameResultIsARecovery) {
    settings_.command.restarts_max = 1;
    const ProgramRun run = inject("kill rank 1 before all_reduce 2");
    EXPECT_EQ(run.outcome, Outcome::recovered) << run.says;
    EXPECT_TRUE(meets(explore::WantedEnd::recovers, run));
    EXPECT_FALSE(meets(explore::WantedEnd::completes, run));
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
    EXPECT_TRUE(meets(explore::WantedEnd::completes, run));
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

constexpr const char* forgetful = R"(
import os, sys, torch, torch.nn as nn, torch.distributed as dist
left_out = sys.argv[1:]
dist.init_process_group("gloo")
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))
model = nn.parallel.DistributedDataParallel(net)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
first = 0
if os.path.exists("last.pt"):
    saved = torch.load("last.pt")
    net.load_state_dict(saved["net"])
    if "optimizer" not in left_out:
        optimizer.load_state_dict(saved["optimizer"])
    if "numbers" not in left_out:
        torch.set_rng_state(saved["numbers"])
    first = saved["step"] + 1
for step in range(first, 6):
    optimizer.zero_grad()
    model(torch.full((2, 4), step + 1.0)).pow(2).mean().backward()
    optimizer.step()
    if dist.get_rank() == 0:
        state = {"net": net.state_dict(), "optimizer": optimizer.state_dict()}
        torch.save({**state, "numbers": torch.get_rng_state(), "step": step}, "last.pt")
    dist.barrier()
)";

// What a checkpoint lacks shows at the step after the restart, each in its own way.
TEST_F(DeviceExplore, AWrongResultAfterARestartTellsWhatDifferedFirst) {
    settings_.command.restarts_max = 1;
    std::ofstream(scratch_->path() / "train.py") << forgetful;
    const ProgramRun whole = inject("kill rank 1 at step 3");
    EXPECT_EQ(whole.outcome, Outcome::recovered) << whole.says;
    const std::map<std::string, std::string> told{
        {"numbers", "; step 3 is the first that differs: the random generators of rank 0 had another state"},
        {"optimizer",
         "; step 3 is the first that differs: rank 0 had the right loss and changed its parameters "
         "otherwise"}};
    for (const auto& [left_out, words] : told) {
        settings_.command.argv = {"train.py"};
        const ProgramRun run = inject("kill rank 1 at step 3", {left_out});
        EXPECT_EQ(run.outcome, Outcome::wrong_result) << left_out << ": " << run.says;
        EXPECT_THAT(run.says, HasSubstr(words));
    }
}

TEST_F(DeviceExplore, AMomentThatNeverComesNamesThoseThatExist) {
    const ProgramRun run = inject("kill rank 1 before all_reduce 99");
    EXPECT_EQ(run.outcome, Outcome::never_came);
    EXPECT_THAT(run.says, HasSubstr("all_reduce × 3"));
    EXPECT_THAT(run.says, HasSubstr("3 steps (0-2)"));
    const ProgramRun phase = inject("kill rank 1 in checkpoint");
    EXPECT_EQ(phase.outcome, Outcome::never_came);
    EXPECT_THAT(phase.says, HasSubstr("the phases backward × 3, forward × 3, optimizer × 3"));
}

ProgramSweep sweep_of(ProgramTrials& trials, const ManagedSettings& settings, std::vector<std::string> faults,
                      MomentKind moments = MomentKind::calls) {
    ProgramSweepOptions options{.faults = std::move(faults), .moments = moments, .ranks = {}, .steps = {}};
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

// Fails if a phase of the evidence is no moment of a fault.
TEST_F(DeviceExplore, ASweepPlaysEachRankInEachPhase) {
    ManagedRunner runner(settings_);
    ProgramTrials trials(plan_of(settings_.command, {1}), {});
    const ProgramSweep sweep = sweep_of(trials, settings_, {"kill"}, MomentKind::phases);
    std::set<std::string> lines;
    for (const SweepPlace& place : sweep.places) {
        lines.insert(place.line);
        EXPECT_EQ(name_of(place.outcome), "clear_error") << place.line << ": " << place.says;
    }
    EXPECT_EQ(sweep.places.size(), 18U) << "3 phases of 3 steps of 2 ranks";
    EXPECT_THAT(lines, testing::Contains("kill rank 1 in backward 3"));
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
    const auto telling = [&] {
        ManagedSettings settings = settings_;
        settings.tell_lines = true;
        return ManagedRunner(settings);
    };
    ManagedRunner lines = telling();
    const auto differs = trials.difference_of_two(runner, lines);
    ASSERT_TRUE(differs) << differs.error().text();
    EXPECT_THAT(*differs, HasSubstr("at train.py:21 dist.all_reduce(torch.zeros(1 + int(drawn)))"));
    EXPECT_THAT(*differs, testing::Not(HasSubstr("{"))) << "events are shown as words";
    settings_.command.argv.pop_back();
    ProgramTrials steady(plan_of(settings_.command, {1}), {});
    ManagedRunner other(settings_);
    ManagedRunner other_lines = telling();
    EXPECT_EQ(steady.difference_of_two(other, other_lines).value(), "");
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

// Files differ in their bytes from run to run of a program like this one, and in nothing that counts.
constexpr const char* saver = R"(
import os, sys, json, time, torch, torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.fsdp import fully_shard
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

class Settings:
    def __init__(self):
        self.begun, self.where = time.time(), os.getcwd()

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
sharded = "sharded" in sys.argv
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))
model = fully_shard(model) if sharded else torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
first = 0
if sharded and os.path.isdir("parts"):
    whole = [int(name) for name in os.listdir("parts") if os.path.exists(f"parts/{name}/.metadata")]
    if whole:
        weights, moments = get_state_dict(model, optimizer)
        state = {"model": weights, "optimizer": moments, "extra": {"following": 0}}
        dcp.load(state, checkpoint_id=f"parts/{max(whole)}")
        set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
        first = state["extra"]["following"]
elif not sharded and os.path.exists("last.pt"):
    with open("last.pt", "rb") as file:
        state = torch.load(file, weights_only=False)
    model.module.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    first = state["following"]
last = None
for step in range(first, 6):
    data = torch.randn(4, 8, generator=torch.Generator().manual_seed(100 * step + rank))
    loss = model(data).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 2 == 0:
        continue
    if sharded:
        weights, moments = get_state_dict(model, optimizer)
        state = {"model": weights, "optimizer": moments, "extra": {"following": step + 1}}
        if "async" in sys.argv:
            if last:
                last.result()
            last = dcp.async_save(state, checkpoint_id=f"parts/{step + 1}")
        else:
            dcp.save(state, checkpoint_id=f"parts/{step + 1}")
    elif rank == 0:
        state = {"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "following": step + 1}
        torch.save({**state, "settings": Settings()}, "new.pt")
        os.replace("new.pt", "last.pt")
        torch.save(state, f"step_{step + 1}.pt")
    dist.barrier()
if last:
    last.result()
dist.barrier()
if rank == 0 and "quiet" not in sys.argv:
    with open("metrics.json", "w") as file:
        json.dump({"took": time.time()}, file)
dist.destroy_process_group()
)";

class DeviceLeftFiles : public DeviceExplore {
protected:
    void SetUp() override {
        DeviceExplore::SetUp();
        if (!IsSkipped()) std::ofstream(scratch_->path() / "train.py") << saver;
    }

    static bool rings(const ProgramRun& run, std::string_view symptom) {
        const auto& findings = run.fault.findings;
        return std::any_of(findings.begin(), findings.end(),
                           [&](const results::Finding& one) { return one.symptom == symptom; });
    }
};

TEST_F(DeviceLeftFiles, TwoHealthyRunsLeaveTheSame) {
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{{}, {"sharded"}, {"sharded", "async"}}) {
        settings_.command.argv = {"train.py"};
        settings_.command.argv.insert(settings_.command.argv.end(), arguments.begin(), arguments.end());
        ManagedRunner runner(settings_);
        ProgramTrials trials(plan_of(settings_.command, {1}), {});
        const auto differs = trials.difference_of_two(runner, runner);
        ASSERT_TRUE(differs) << differs.error().text();
        EXPECT_EQ(*differs, "");
        std::size_t readable = 0;
        for (const auto& [path, file] : (*trials.control(runner))->record.left) readable += file.has_tensors;
        EXPECT_EQ(readable, arguments.empty() ? 4U : 3U) << "last and three steps, or three directories";
    }
}

TEST_F(DeviceLeftFiles, TimesAndPathsInAFileAreNoResult) {
    const ProgramRun run = inject("delay all_reduce 2 30s rank 0");
    EXPECT_EQ(run.outcome, Outcome::unaffected) << run.says;
}

TEST_F(DeviceLeftFiles, AFileThatTheDiskSpoiledIsNotUnaffected) {
    const ProgramRun cut = inject("corrupt checkpoint path=step_4 how=truncate before all_reduce 6");
    EXPECT_EQ(cut.outcome, Outcome::lost_checkpoint) << cut.says;
    EXPECT_THAT(cut.says, HasSubstr("step_4.pt, which cannot be read: "));
    const ProgramRun gone = inject("corrupt checkpoint path=step_4 how=delete before all_reduce 6");
    EXPECT_EQ(gone.outcome, Outcome::lost_checkpoint) << gone.says;
    EXPECT_THAT(gone.says, HasSubstr("without"));
    const ProgramRun torn = inject("tear write path=step_6 before checkpoint_save 2");
    EXPECT_EQ(torn.outcome, Outcome::lost_checkpoint) << torn.says;
}

// Fails if a copy of a run reads the files of another one.
TEST_F(DeviceLeftFiles, ACopiedRunTellsWhatItLeavesItself) {
    ManagedRunner runner(settings_);
    if (const auto can = runner.can_branch(); !can) GTEST_SKIP() << can.error().what;
    ProgramTrials trials(plan_of(settings_.command, {1}), {});
    const ProgramSweep sweep = sweep_of(trials, settings_, {"corrupt checkpoint path=step_ how=truncate"});
    EXPECT_GT(sweep.copied, 0U) << sweep.obstacle;
    for (const SweepPlace& place : sweep.places)
        EXPECT_EQ(name_of(place.outcome), "lost_checkpoint") << place.line << ": " << place.says;
}

TEST_F(DeviceLeftFiles, AHealthyResumeRaisesNoAlarmAboutIt) {
    settings_.command.restarts_max = 1;
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{{}, {"sharded"}, {"sharded", "async"}}) {
        settings_.command.argv = {"train.py"};
        for (const char* line : {"kill rank 1 at step 3", "kill rank 1 at step 4", "kill rank 1 at step 5"}) {
            settings_.command.argv.resize(1);
            const ProgramRun run = inject(line, arguments);
            EXPECT_EQ(run.outcome, Outcome::recovered) << line << ": " << run.says;
            EXPECT_FALSE(rings(run, "resume_state_regression")) << line << " " << arguments.size();
        }
    }
}

// The detector must still see a resume that is wrong: here from a checkpoint older than the newest.
TEST_F(DeviceLeftFiles, AResumeFromAnOlderCheckpointStillRings) {
    settings_.command.restarts_max = 1;
    std::string older = saver;
    const std::string path = "open(\"last.pt\", \"rb\")";
    older.replace(older.find(path), path.size(), "open(\"step_2.pt\", \"rb\")");
    std::ofstream(scratch_->path() / "train.py") << older;
    const ProgramRun run = inject("kill rank 1 at step 5");
    EXPECT_TRUE(rings(run, "resume_state_regression")) << run.says;
}

// One tensor on four ranks: three of them write nothing, and nothing is wrong.
TEST_F(DeviceLeftFiles, ARankWithoutAPartOfADistributedCheckpointRaisesNoAlarm) {
    settings_.command.ranks_per_node = 4;
    std::ofstream(scratch_->path() / "train.py") << R"(
import torch, torch.distributed as dist, torch.distributed.checkpoint as dcp
dist.init_process_group("gloo")
torch.manual_seed(0)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1, bias=False))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    loss = model(torch.randn(2, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    dcp.save({"weight": model.module.weight.detach()}, checkpoint_id=f"parts/{step}")
dist.destroy_process_group()
)";
    const ProgramRun run = inject("delay all_reduce 2 1s rank 1");
    EXPECT_EQ(run.outcome, Outcome::unaffected) << run.says;
    EXPECT_FALSE(rings(run, "checkpoint_save_failure"));
}

// The save of the others fails with the lost rank; that is no failure of the disk.
TEST_F(DeviceLeftFiles, ARankThatIsLostDuringAnAsyncSaveIsNamed) {
    settings_.command.restarts_max = 1;
    const ProgramRun run = inject("kill rank 1 at step 5", {"sharded", "async"});
    EXPECT_EQ(run.alarm(), "named");
    EXPECT_FALSE(rings(run, "checkpoint_save_failure"));
}

constexpr const char* own_keeper = R"(
import os, json, torch, torch.distributed as dist
dist.init_process_group("gloo")
torch.manual_seed(0)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
first = 0
if os.path.exists("own.json"):
    with open("own.json") as file:
        said = json.load(file)
    for parameter, values in zip(model.parameters(), said["values"]):
        parameter.data.copy_(torch.tensor(values).view_as(parameter))
    first = said["following"]
for step in range(first, 6):
    data = torch.randn(4, 8, generator=torch.Generator().manual_seed(100 * step + dist.get_rank()))
    loss = model(data).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if dist.get_rank() == 0:
        values = [parameter.flatten().tolist() for parameter in model.parameters()]
        with open("own.json", "w") as file:
            json.dump({"values": values, "following": step + 1}, file)
    dist.barrier()
)";

TEST_F(DeviceLeftFiles, AResumeFromAFileOfItsOwnKindRaisesNoAlarmAboutIt) {
    settings_.command.restarts_max = 1;
    std::ofstream(scratch_->path() / "train.py") << own_keeper;
    const ProgramRun run = inject("kill rank 1 at step 3");
    EXPECT_EQ(run.outcome, Outcome::recovered) << run.says;
    EXPECT_FALSE(rings(run, "resume_state_regression"));
}

TEST_F(DeviceLeftFiles, ExchangedRanksHaveTheSameResult) {
    const ProgramRun run = inject("swap ranks 0,1");
    EXPECT_EQ(run.outcome, Outcome::unaffected) << run.says;
}

TEST_F(DeviceExplore, AVariableThatNothingDependsOnIsToldSo) {
    const ProgramRun run = inject("set FOO=bar rank 1");
    EXPECT_EQ(run.outcome, Outcome::unaffected) << run.says;
    EXPECT_THAT(run.says, HasSubstr("FOO was set"));
    EXPECT_THAT(run.says, HasSubstr("nothing depends on it"));
}

TEST_F(DeviceExplore, AVariableThatTheProgramReadsByItselfHasItsEffect) {
    std::ofstream(scratch_->path() / "train.py")
        << "import os\nif os.environ.get('FOO') == 'bar': raise ValueError('FOO is bar')\n" << trainer;
    const ProgramRun run = inject("set FOO=bar rank 1");
    EXPECT_EQ(run.outcome, Outcome::clear_error) << run.says;
    EXPECT_THAT(run.says, HasSubstr("FOO is bar"));
}

TEST_F(DeviceExplore, TheAlarmNamesTheStepAtWhichTheFaultActed) {
    for (const char* line : {"kill rank 1 at step 2", "kill rank 1 before all_reduce 2", "stop rank 1 at step 2"}) {
        const ProgramRun run = inject(line);
        ASSERT_FALSE(run.fault.findings.empty()) << line;
        EXPECT_EQ(run.fault.findings.front().blame.step, run.culprit().step) << line;
    }
}

TEST_F(DeviceExplore, ACutLinkUnderGlooIsToldInTheWordsOfGloo) {
    settings_.command.nodes = 2;
    settings_.command.ranks_per_node = 1;
    const ProgramRun silent = inject("cut link node0-node1 at step 1");
    EXPECT_EQ(silent.outcome, Outcome::watchdog) << silent.says;
    EXPECT_THAT(silent.says, HasSubstr("Timed out waiting 1800000ms for recv operation to complete"));
    const ProgramRun reset = inject("cut link node0-node1 how=reset at step 1");
    EXPECT_EQ(reset.outcome, Outcome::clear_error) << reset.says;
    EXPECT_THAT(reset.says, HasSubstr("Connection reset by peer"));
}

TEST_F(DeviceExplore, AnInnocentFaultHidesNoWrongBlame) {
    ManagedRunner runner(settings_);
    ProgramTrials trials(plan_of(settings_.command, {1}), {});
    std::vector<scenarios::FaultSettings> faults;
    for (const char* line : {"delay all_reduce 1 5s rank 0", "kill rank 1 before all_reduce 2"})
        faults.push_back(*scenarios::read_fault_expression(line, testing_vocabulary()));
    const auto plan = scenarios::with_faults(trials.healthy(), faults, testing_vocabulary());
    ASSERT_TRUE(plan) << plan.error().text();
    const auto run = trials.play(*plan, runner, &runner);
    ASSERT_TRUE(run) << run.error().text();
    EXPECT_THAT(run->innocent, ElementsAre(0));
    EXPECT_THAT(run->culprit().ranks, ElementsAre(1));
}

// The kill is over with the restart; what ends the job is the file.
TEST_F(DeviceLeftFiles, AnOutcomeNamesWhatEndedTheJobNotAnEarlierKill) {
    settings_.command.restarts_max = 1;
    ManagedRunner runner(settings_);
    ProgramTrials trials(plan_of(settings_.command, {1}), {});
    std::vector<scenarios::FaultSettings> faults;
    for (const char* line : {"corrupt checkpoint path=last.pt how=truncate before all_reduce 9", "kill rank 1 at step 5"})
        faults.push_back(*scenarios::read_fault_expression(line, testing_vocabulary()));
    const auto plan = scenarios::with_faults(trials.healthy(), faults, testing_vocabulary());
    ASSERT_TRUE(plan) << plan.error().text();
    const auto run = trials.play(*plan, runner, &runner);
    ASSERT_TRUE(run) << run.error().text();
    EXPECT_EQ(run->says.find("SIGKILL"), std::string::npos) << run->says;
    EXPECT_THAT(run->says, HasSubstr("zip archive")) << name_of(run->outcome);
    EXPECT_TRUE(run->innocent.empty());
}

// A runner whose copied runs cannot be played.
class FailingCopies final : public Runner {
public:
    explicit FailingCopies(Runner& real) : real_(real) {}
    std::string_view name() const override { return "sim"; }
    scenarios::Capabilities capabilities() const override { return real_.capabilities(); }
    scenarios::Result<void> can_branch() const override { return {}; }

private:
    scenarios::Result<Record> play(const scenarios::Plan& plan, const RunOptions& options) override {
        if (options.branches) return scenarios::refuse(scenarios::ErrorCode::environment, "the disk broke");
        return real_.run(plan, options);
    }
    Runner& real_;
};

TEST_F(DeviceExplore, ASweepTellsWhyTheCopiedRunFailed) {
    ManagedRunner runner(settings_);
    ProgramTrials trials(plan_of(settings_.command, {1}), {});
    ProgramSweepOptions options{.faults = {"kill"}, .ranks = {1}, .steps = {2}};
    options.words = &testing_vocabulary();
    options.workers.make_runner = [&] { return std::make_unique<FailingCopies>(runner); };
    options.workers.threads = 1;
    const auto sweep = sweep_program(trials, options);
    ASSERT_TRUE(sweep) << sweep.error().text();
    ASSERT_EQ(sweep->places.size(), 1U);
    EXPECT_THAT(sweep->places.front().says, HasSubstr("the disk broke"));
}

}  // namespace
}  // namespace deadrank::runners::explore
