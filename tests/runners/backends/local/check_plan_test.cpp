// tests/runners/backends/local/check_plan_test.cpp — Goal: what real processes would leave out of a plan is
// told before any is started, and what they play is not refused.
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runners/backends/local/arming.h"
#include "runners/backends/local/local_runner.h"
#include "runners/extension/extension.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/format/scenario_file.h"
#include "scenarios/format/taxonomy_file.h"
#include "scenarios/model/scenario.h"

namespace deadrank::runners {
namespace {

using ::testing::HasSubstr;

// A data parallel job with this fault and these settings, as a file would say it.
scenarios::Result<void> check_plan(const std::string& fault, const std::string& settings = "",
                                   const std::string& cluster = "") {
    const std::filesystem::path source(DEADRANK_SOURCE_DIRECTORY);
    const auto taxonomy = scenarios::load_taxonomy(source / "scenarios" / "taxonomy.toml");
    const std::string text =
        "format = 1\n[bug]\nstage = \"communication\"\nsymptom = \"collective_deadlock_hang\"\n"
        "cause = \"rank_divergent_control_flow\"\nfix = \"validation_and_failure_handling\"\n"
        "[cluster]\nnodes = 2\ngpus_per_node = 1\n" +
        cluster + "[workload]\nkind = \"data_parallel\"\n" + settings + "[[fault]]\n" + fault +
        "[expect]\n[heal]\nfault = \"none\"\nsays = \"-\"\n";
    const auto scenario = scenarios::parse_scenario(text, "communication/test.toml", *taxonomy, vocabulary());
    if (!scenario) return tl::unexpected(scenario.error());
    LocalRunner local;
    const auto trial = scenarios::resolve(*scenario, {1}, local.capabilities(), vocabulary());
    if (!trial) return tl::unexpected(trial.error());
    return local.check_plan(trial->fault);
}

const std::string skipped_call =
    "kind = \"skip_collective\"\nrank = 1\nwhen = { step = 3, before = \"all_reduce\" }\n";

void expect_refused(const scenarios::Result<void>& answer, const std::string& words) {
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, scenarios::ErrorCode::unsupported) << answer.error().text();
    EXPECT_THAT(answer.error().what, HasSubstr(words));
}

TEST(OnPaper, LetsPassWhatRealProcessesPlay) {
    const auto plain = check_plan(skipped_call);
    EXPECT_TRUE(plain) << plain.error().text();
    EXPECT_TRUE(check_plan(skipped_call, "steps = 9\nbuckets = 3\nstore_timeout = \"1m\"\n"));
    EXPECT_TRUE(check_plan("kind = \"bend_value\"\nrank = 1\nseam = \"sampler.shard\"\nset = 0\n"));
    EXPECT_TRUE(check_plan("kind = \"skip_block\"\nrank = 1\nblock = \"gradient.accumulate\"\n",
                           "batch = 4\nmicro_batches = 2\naudit = true\n"));
    EXPECT_TRUE(check_plan("kind = \"set_env\"\nrank = 1\nname = \"WORLD_SIZE\"\nvalue = \"3\"\n"));
}

TEST(OnPaper, NamesWhatTheProgramHasNot) {
    expect_refused(check_plan(skipped_call, "loader_workers = 4\n"), "no setting 'loader_workers'");
    expect_refused(check_plan("kind = \"skip_block\"\nrank = 1\nblock = \"unused.find\"\n"),
                   "no block 'unused.find'");
    expect_refused(check_plan("kind = \"bend_value\"\nrank = 1\nseam = \"weights.device\"\nset = 0\n"),
                   "no value 'weights.device'");
}

TEST(OnPaper, NamesAPackageThatIsNotImportedAndAFileThatTorchDoesNotWrite) {
    const auto broken = [](const std::string& package) {
        return check_plan("kind = \"break_package\"\nrank = 1\npackage = \"" + package + "\"\n");
    };
    EXPECT_TRUE(broken("torch"));
    expect_refused(broken("flash_attn"), "does not import 'flash_attn'");
    expect_refused(check_plan("kind = \"lose_write\"\npath = \"checkpoint/latest\"\nwhen = { step = 3 }\n"),
                   "'checkpoint/latest'");
    expect_refused(check_plan("kind = \"take_port\"\nnode = 1\nport = \"29500\"\n", ""), "one host");
}

TEST(OnPaper, NamesAVariableThatNobodyReadsAndAMomentThatNeverComes) {
    expect_refused(check_plan("kind = \"set_env\"\nrank = 1\nname = \"NCCL_ALGO\"\nvalue = \"Tree\"\n"),
                   "nothing reads 'NCCL_ALGO'");
    expect_refused(check_plan("kind = \"kill_rank\"\nrank = 1\nwhen = { before = \"allocate\" }\n"),
                   "cannot observe 'allocate'");
    expect_refused(check_plan(skipped_call, "", "launcher = \"mpirun\"\n"), "not by mpirun");
}

// A newcomer's first look ends with these.
TEST(OnPaper, HealsTheHandfulBySettingsThatItsProgramsRead) {
    const std::filesystem::path source(DEADRANK_SOURCE_DIRECTORY);
    const auto taxonomy = scenarios::load_taxonomy(source / "scenarios" / "taxonomy.toml");
    std::ifstream in(source / "runners" / "backends" / "local" / "handful.txt");
    LocalRunner local;
    scenarios::Capabilities any_size = local.capabilities();
    any_size.ranks_max = 1 << 10;
    int changed = 0;
    for (std::string id; std::getline(in, id);) {
        if (id.empty() || id.front() == '#') continue;
        const auto file = source / "scenarios" / "catalog" / (id + ".toml");
        const auto scenario = scenarios::load(file, *taxonomy, vocabulary());
        ASSERT_TRUE(scenario) << scenario.error().text();
        const auto trial = scenarios::resolve(*scenario, {1}, any_size, vocabulary());
        ASSERT_TRUE(trial) << trial.error().text();
        for (const auto& [setting, value] : trial->healed.workload) {
            const auto before = trial->fault.workload.find(setting);
            if (before != trial->fault.workload.end() && before->second == value) continue;
            ++changed;
            EXPECT_TRUE(local.reads(trial->healed, setting)) << id << ": " << setting;
        }
    }
    EXPECT_GT(changed, 0);
}

// Two lists of one thing, in two languages.
TEST(OnPaper, KnowsWhatTheHookFindsInEveryProgram) {
    std::ifstream in(DEADRANK_SOURCE_DIRECTORY "/runners/backends/local/hook/deadrank_hook/seams.py");
    std::string all((std::istreambuf_iterator<char>(in)), {});
    const std::string list = all.substr(all.find("RATES = "), all.find("def rates") - all.find("RATES = "));
    std::size_t names = 0;
    for (std::size_t at = list.find('"'); at != std::string::npos; at = list.find('"', at + 1)) {
        const std::size_t end = list.find('"', at + 1);
        const std::string name = list.substr(at + 1, end - at - 1);
        EXPECT_TRUE(shows({}, name)) << name;
        ++names;
        at = end;
    }
    EXPECT_EQ(names, 8u);
}

}  // namespace
}  // namespace deadrank::runners
