// tests/runners/local/damage_test.cpp — Goal: a damage hits the file that its rank and name mean, in the
// layouts of torch, distributed checkpoints and DeepSpeed, and what is not the run's own is copied first.
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "results/external/bounded.h"

namespace deadrank::runners {
namespace {

namespace fs = std::filesystem;

// Statements of Python with the hook's storage at hand and an empty directory as the working one.
class HookStorage : public testing::Test {
protected:
    void SetUp() override { fs::create_directories(directory_); }
    void TearDown() override { fs::remove_all(directory_); }

    void holds(const std::string& statements) {
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
            "{}\n",
            DEADRANK_SOURCE_DIRECTORY "/runners/local/hook", directory_.string(), statements);
        const auto answer = results::external::run_bounded({"python3", "-c", script}, {});
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

TEST_F(HookStorage, CopiesAndListsWhatIsNotTheRunsOwn) {
    holds(R"(
write('theirs/rank0.pt', 'whole'); write('run/checkpoints/rank0.pt', 'whole')
Damage('truncate', '', 2, run='run').at_rest('theirs/rank0.pt')
Damage('truncate', '', 2, run='run').at_rest('run/checkpoints/rank0.pt')
notes = [name for name in os.listdir('run/kept') if name.endswith('.jsonl')]
lines = [json.loads(line) for name in notes for line in open('run/kept/' + name)]
assert [os.path.basename(os.path.dirname(line['path'])) for line in lines] == ['theirs', 'theirs'], lines
assert 'size' not in lines[0] and lines[1]['size'] == 2
assert read(lines[1]['backup']) == 'whole'
)");
}

}  // namespace
}  // namespace deadrank::runners
