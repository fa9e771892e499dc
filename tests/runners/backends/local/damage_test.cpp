// tests/runners/backends/local/damage_test.cpp — Goal: a damage hits the file that its rank and name mean, in
// the layouts of torch, distributed checkpoints and DeepSpeed, and what is not the run's own is copied first.
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <unistd.h>

#include "results/processes/bounded.h"
#include "runners/backends/local/local_runner.h"
#include "runners/backends/local/local_subject.h"
#include "runners/backends/process/kept_files.h"
#include "runners/backends/process/mpirun.h"
#include "runners/backends/process/scratch.h"
#include "tests/runners/backends/local/small_plan.h"

namespace deadrank::runners {
namespace {

namespace fs = std::filesystem;

// Statements of Python with the hook's storage at hand and an empty directory as the working one.
class HookStorage : public testing::Test {
protected:
    void SetUp() override { fs::create_directories(directory_); }
    void TearDown() override { fs::remove_all(directory_); }

    void holds(const std::string& statements, const std::vector<std::string>& environment = {}) {
        const std::string script = fmt::format(
            "import os, sys, time\n"
            "sys.dont_write_bytecode = True\n"
            "sys.path.insert(0, r'{}')\n"
            "os.chdir(r'{}')\n"
            "from deadrank_hook.storage import *\n"
            "def write(path, text):\n"
            "    os.makedirs(os.path.dirname(path) or '.', exist_ok=True)\n"
            "    open(path, 'w').write(text)\n"
            "    time.sleep(0.002)\n"
            "def read(path): return open(path).read()\n"
            "class Told(list):\n"
            "    def applied(self): self.append('applied')\n"
            "    def refused(self, sentence): self.append(sentence)\n"
            "{}\n",
            DEADRANK_SOURCE_DIRECTORY "/runners/backends/local/hook", directory_.string(), statements);
        const auto answer = results::processes::run_bounded({"python3", "-c", script}, {}, "", environment);
        ASSERT_TRUE(answer) << answer.error().text();
        EXPECT_TRUE(answer->well()) << answer->err;
    }

    const fs::path directory_ = fs::path(testing::TempDir()) / fmt::format("storage-{}", getpid());
};

TEST_F(HookStorage, GivesEachRankOnlyItsOwnFile) {
    holds(R"(
for name in ('__0_0.distcp', '__1_0.distcp', '.metadata'): write('step2/' + name, 'x')
write('global_step2/zero_pp_rank_1_mp_rank_00_optim_states.pt', 'x')
write('global_step2/mp_rank_00_model_states.pt', 'x')
shard = Damage('flip', 'distcp', 0)
assert shard.target('.', 1).endswith('step2/__1_0.distcp'), shard.target('.', 1)
assert shard.target('.', 0).endswith('step2/__0_0.distcp')
assert Damage('flip', '.metadata', 0).target('.', 1) is None
assert Damage('flip', 'optim_states', 0).target('.', 1).endswith('zero_pp_rank_1_mp_rank_00_optim_states.pt')
assert Damage('flip', 'model_states', 0).target('.', 0).endswith('mp_rank_00_model_states.pt')
)");
}

TEST_F(HookStorage, TakesTheNewestFileThatHoldsState) {
    holds(R"(
for name in ('mp_rank_00_model_states.pt', 'zero_pp_rank_0_mp_rank_00_optim_states.pt'):
    write('step2/' + name, 'x')
write('zero_to_fp32.py', 'x'); write('latest', '2')
assert Damage('delete', '', 0).target('.', 0).endswith('optim_states.pt')
)");
}

TEST_F(HookStorage, TurnsOneBitCutsSwapsAndDeletes) {
    holds(R"(
write('s/rank0.pt', 'aaaa'); write('s/rank1.pt', 'bbbb'); write('s/common.pt', 'cccc')
Damage('flip', '', 9).at_rest('s/rank0.pt')
assert read('s/rank0.pt') == 'acaa', read('s/rank0.pt')
Damage('swap', '', 0).at_rest('s/rank1.pt')
assert (read('s/rank0.pt'), read('s/rank1.pt'), read('s/common.pt')) == ('bbbb', 'acaa', 'cccc')
Damage('truncate', '', 1).at_rest('s/rank0.pt')
assert read('s/rank0.pt') == 'b'
Damage('delete', '', 0).at_rest('s/rank0.pt')
assert not os.path.exists('s/rank0.pt')
)");
}

TEST_F(HookStorage, ShowsTheContentBeforeTheLastWrite) {
    holds(R"(
write('step2/__1_0.distcp', 'old'); write('step4/__1_0.distcp', 'new')
Damage('stale', '', 0).at_rest('step4/__1_0.distcp')
assert read('step4/__1_0.distcp') == 'old'
write('latest.pt', 'old')
stale = Damage('stale', '', 0)
stale.before_save('latest.pt'); write('latest.pt', 'new'); stale.at_rest('latest.pt')
assert read('latest.pt') == 'old' and not os.path.exists('latest.pt.old')
)");
}

// Goal: evidence claims no shard that nobody ever meant to write, as Megatron-core's common.pt and
// Colossal-AI's model.pt by rank 0 alone.
TEST_F(HookStorage, KnowsAShardByItsNameOrByItsDirectory) {
    holds(R"(
import types
torch, there = types.ModuleType('torch'), types.ModuleType('torch.distributed')
torch.distributed, there.is_initialized, there.get_world_size = there, lambda: True, lambda: 2
sys.modules.update({'torch': torch, 'torch.distributed': there})
from deadrank_hook.checkpoints import shard_of
hook = types.SimpleNamespace(slot=1, step=7, saved_after={}, training=types.SimpleNamespace(began=False))
def says(path, directory=False):
    said = shard_of(hook, path, directory)
    return said['shard'], said['shards'], said['step']
assert says('step1-run/step3/common.pt') == (0, 1, 3), says('step1-run/step3/common.pt')
assert says('best.pt') == (0, 1, 7)
assert says('step9/shard1of4.pt') == (1, 4, 9)
assert says('global_step2/zero_pp_rank_1_mp_rank_00_optim_states.pt') == (1, 2, 2)
assert says('step3', directory=True) == (1, 2, 3)
)");
}

// Goal: a checkpoint's own step, or else its name, goes on with the count after a restart.
TEST_F(HookStorage, GoesOnWithTheStepOfWhatWasLoaded) {
    holds(R"(
import types
from deadrank_hook.evidence import Writer
from deadrank_hook.threads import Threads
from deadrank_hook.training import Training
training = Training(types.SimpleNamespace(step=0, evidence=Writer('./lines.jsonl', 0), threads=Threads()))
training.loaded(None)
assert training.hook.step == 0
training.loaded({'weight': 1.5}, 3)
assert training.hook.step == 4
training.loaded({'step': 7}, 3)
assert training.hook.step == 8
)");
}

// Goal: a slow rank is slow in all of its own work: what comes after a step's last call, as its optimizer,
// too.
TEST_F(HookStorage, StretchesWhatARankDoesAfterItsLastCall) {
    holds(R"(
import time, types
from deadrank_hook.evidence import Writer
from deadrank_hook.threads import Threads
from deadrank_hook.training import Training
stretched = []
levers = types.SimpleNamespace(stretch=stretched.append)
hook = types.SimpleNamespace(step=3, slot=0, watching=False, plan={},
    injector=types.SimpleNamespace(levers=levers, armed=[]),
    evidence=Writer('./lines.jsonl', 0), threads=Threads(),
    shares=types.SimpleNamespace(trained=lambda: None), replicas=types.SimpleNamespace(digests=lambda: []))
training = Training(hook)
training.new_work()
training.mark = time.monotonic() - 0.5  # when its last call ended
training.end()
assert len(stretched) == 1 and 0.5 <= stretched[0] < 5, stretched
)");
}

TEST_F(HookStorage, DamagesWhatIsNotTheRunsOwnOnlyWhereACopyIsKept) {
    holds(R"(
told = Told()
write('theirs/rank0.pt', 'whole'); write('run/checkpoints/rank0.pt', 'whole')
Damage('truncate', '', 2, run='run', report=told).at_rest('theirs/rank0.pt')
assert read('theirs/rank0.pt') == 'whole' and 'no copy of it could be kept' in told[0], told
Damage('truncate', '', 2, run='run', report=told).at_rest('run/checkpoints/rank0.pt')
assert read('run/checkpoints/rank0.pt') == 'wh' and told[1:] == ['applied'], told
)");
}

TEST_F(HookStorage, SaysNothingOfADamageThatChangesNothing) {
    holds(R"(
told = Told()
write('s/rank0.pt', 'same'); write('s/rank1.pt', 'same'); write('s/empty.pt', '')
write('alone/model.bin', 'x')
for what, file in (('swap', 's/rank0.pt'), ('flip', 's/empty.pt'), ('swap', 'alone/model.bin'),
                   ('stale', 'alone/model.bin')):
    assert not Damage(what, '', 0, report=told).at_rest(file), (what, file)
assert told == []
)");
}

// What another name stands for as well keeps its content under that name, on the list or not.
TEST_F(HookStorage, LeavesTheOtherNamesOfAFileAlone) {
    holds(R"(
write('best.pt', 'whole'); os.link('best.pt', 'last.pt')
Damage('truncate', '', 2).at_rest('last.pt')
assert (read('last.pt'), read('best.pt')) == ('wh', 'whole')
)");
}

// Whatever the program has renamed it to by then, a file is found by what it was saved as, and is given back.
TEST_F(HookStorage, FindsAndKeepsWhatTheJobHasWrittenUnderItsNewName) {
    if (files_shim().empty()) GTEST_SKIP() << "libdeadrank-files.so was not built (sanitizers)";
    const fs::path kept = directory_ / "1-1.kept";
    ASSERT_TRUE(begin_keeping(kept));
    std::ofstream(directory_ / "last.pt") << "before";
    fs::create_directories(directory_ / "run/evidence");
    holds(R"(
told = Told()
write('last.pt.tmp', 'a longer one'); os.replace('last.pt.tmp', 'last.pt')
damage = Damage('truncate', '/last.pt', 2, run='run', report=told)
file = damage.target('', 0, changed_by_job())
assert file == os.path.realpath('last.pt'), file
assert damage.at_rest(file) and told == ['applied'] and read('last.pt') == 'a '
os.replace('last.pt', 'renamed.pt'); os.link('renamed.pt', 'again.pt')
)",
          {"LD_PRELOAD=" + files_shim().string(), "DEADRANK_KEPT=" + kept.string(), "DEADRANK_FILES=told",
           "DEADRANK_EVIDENCE=" + (directory_ / "run/evidence").string()});
    EXPECT_TRUE(give_back(kept).whole);
    std::ifstream in(directory_ / "last.pt");
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "before");
    EXPECT_FALSE(fs::exists(directory_ / "renamed.pt") || fs::exists(directory_ / "again.pt"));
}

// FSDP2 with a distributed checkpoint after steps 1 and 3 that dies in step 3 and is started again.
class DeviceDamage : public testing::Test {
protected:
    void SetUp() override {
        const auto subject = subject_named("fsdp2");
        const auto python = best_python();
        ASSERT_TRUE(subject) << subject.error().text();
        if (!python) GTEST_SKIP() << python.error().text();
        if (const auto able = check_needs(*subject, *python); !able) GTEST_SKIP() << able.error().text();
        runner_.emplace(*subject);
        plan_ = small_plan("data_parallel", 1, 2, 4);
        plan_.workload["checkpoint_every"] = whole(2);
        plan_.cluster["restarts_max"] = whole(1);
        scenarios::FaultSpec dies{.kind = "kill_rank"};
        dies.parameters["rank"] = {.type = scenarios::ValueType::ranks, .list = {1}};
        dies.when.step = 3;
        plan_.faults = {dies};
    }

    std::optional<LocalRunner> runner_;
    scenarios::Plan plan_;
};

// The steps of the second life keep their names: 0 to 2, then 2 and 3.
TEST_F(DeviceDamage, AWholeDistributedCheckpointIsGoneOnFrom) {
    const auto record = runner_->run(plan_, {});
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_TRUE(record->truth.completed());
    std::vector<std::int64_t> steps;
    for (const results::Event* event : record->evidence.each<results::StepEnd>()) {
        if (event->rank == 0) steps.push_back(event->as<results::StepEnd>()->step);
    }
    EXPECT_EQ(steps, (std::vector<std::int64_t>{0, 1, 2, 2, 3}));
}

TEST_F(DeviceDamage, AtRestOfADistributedCheckpointIsMetByTorchsOwnReader) {
    scenarios::FaultSpec damage{.kind = "corrupt_checkpoint"};
    damage.parameters["how"] = {.type = scenarios::ValueType::choice, .text = "truncate"};
    damage.parameters["path"] = {.type = scenarios::ValueType::text, .text = "__0_0.distcp"};
    damage.when.step = 2;
    plan_.faults.insert(plan_.faults.begin(), damage);
    const auto record = runner_->run(plan_, {});
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_FALSE(record->truth.completed());
    int unread = 0;
    for (const results::Event* event : record->evidence.each<results::CheckpointLoad>())
        unread += event->as<results::CheckpointLoad>()->result != results::Code::ok;
    EXPECT_GT(unread, 0);
}

}  // namespace
}  // namespace deadrank::runners
