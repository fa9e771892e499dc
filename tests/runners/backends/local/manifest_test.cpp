// tests/runners/backends/local/manifest_test.cpp — Goal: a manifest says what it means, or is refused with
// its place and what would do.
#include "runners/backends/local/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runners/backends/local/local_subject.h"

namespace deadrank::runners {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* whole_manifest = R"(
format = 1
framework = "Mine"
plays = ["data_parallel"]
[start]
command = ["train.py", "--timeout", "{timeout}"]
environment = { MODE = "fast" }
[needs]
torch = "2.6"
numpy = "*"
[arguments]
steps = "--steps {}"
shuffle = { 0 = "--in-order" }
[at_most]
stage = 2
[read]
hook = false
step = 'step (\d+): (\S+)'
[limits]
timeout = "5s"
run = "2m"
disk = "10MiB"
)";

scenarios::Plan manifest_plan() {
    scenarios::Plan plan;
    plan.workload_kind = "data_parallel";
    plan.cluster["ranks"] = {.type = scenarios::ValueType::integer, .number = 2};
    plan.cluster["nodes"] = plan.cluster["gpus_per_node"] = plan.cluster["ranks"];
    plan.workload["steps"] = {.type = scenarios::ValueType::integer, .number = 7};
    plan.workload["shuffle"] = {.type = scenarios::ValueType::boolean, .number = 0};
    return plan;
}

std::string refusal(const std::string& toml) {
    const auto parsed = parse_manifest(toml, "mine.toml");
    return parsed ? "" : parsed.error().text();
}

TEST(Manifest, SaysHowAProgramStartsAndIsRead) {
    const auto manifest = parse_manifest(whole_manifest, "some/mine.toml");
    ASSERT_TRUE(manifest) << manifest.error().text();
    EXPECT_EQ(manifest->name, "mine");
    EXPECT_EQ(manifest->framework, "Mine");
    EXPECT_EQ(manifest->starts, Starts::ranks);
    EXPECT_FALSE(manifest->hook);
    EXPECT_EQ(manifest->timeout, std::chrono::seconds(5));
    EXPECT_EQ(manifest->limit, std::chrono::minutes(2));
    EXPECT_EQ(manifest->disk, 10 << 20);
    EXPECT_EQ(manifest->needs.size(), 2u);
}

TEST(Manifest, PutsAScenariosSettingsIntoTheCommand) {
    const auto manifest = parse_manifest(whole_manifest, "some/mine.toml");
    ASSERT_TRUE(manifest);
    const auto subject =
        subject_for(manifest_plan(), *manifest, {"/c", "python", results::Time(5'000'000'000)});
    ASSERT_TRUE(subject) << subject.error().text();
    ASSERT_FALSE(subject->command.empty());
    EXPECT_THAT(subject->command.front(), HasSubstr("some/train.py"));
    const std::vector<std::string> rest(subject->command.begin() + 1, subject->command.end());
    EXPECT_THAT(rest, ElementsAre("--timeout", "5.000", "--in-order", "--steps", "7"));
}

TEST(Manifest, RefusesAWorkloadOrASettingThatTheProgramHasNot) {
    const auto manifest = parse_manifest(whole_manifest, "mine.toml");
    ASSERT_TRUE(manifest);
    scenarios::Plan other = manifest_plan();
    other.workload_kind = "zero";
    EXPECT_FALSE(subject_for(other, *manifest, {}));
    other = manifest_plan();
    other.workload["stage"] = {.type = scenarios::ValueType::integer, .number = 3};
    const auto refused = subject_for(other, *manifest, {});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().text(), HasSubstr("no stage above 2"));
}

TEST(Manifest, IsRefusedWithThePlaceOfItsMistake) {
    EXPECT_THAT(refusal("format = 1\n[start]\ncomand = [\"a\"]\n"), HasSubstr("mine.toml:3:"));
    EXPECT_THAT(refusal("format = 1\n"), HasSubstr("no [start]"));
    EXPECT_THAT(refusal("[start]\ncommand = [\"a\"]\n"), HasSubstr("format 1"));
    EXPECT_THAT(refusal("format = 1\n[start]\ncommand = [\"a\"]\n[read]\nstep = '(('\n"),
                HasSubstr("is not a pattern"));
    EXPECT_THAT(refusal("format = 1\n[start]\ncommand = [\"a\"]\n[read]\nstep = '(a)'\n"),
                HasSubstr("1 groups, and fields name 2"));
    EXPECT_THAT(refusal("format = 1\nlike = \"nobody\"\n[start]\ncommand = [\"a\"]\n"),
                HasSubstr("no manifest 'nobody'"));
    EXPECT_THAT(refusal("format = 1\n[start]\ncommand = [\"a\"]\n[limits]\ndisk = \"much\"\n"),
                HasSubstr("mine.toml:4:"));
}

// Goal: a promise of a framework has its source, and is not inherited by another one that starts alike.
TEST(Manifest, SaysWhichSettingsAFrameworkPromisesToCompareAndWhere) {
    const auto manifest = parse_manifest(
        "format = 1\n[start]\ncommand = [\"a\"]\n[compares]\nWIDTH = \"its manual, page 7\"\n", "mine.toml");
    ASSERT_TRUE(manifest) << manifest.error().text();
    EXPECT_EQ(manifest->compares.at("WIDTH"), "its manual, page 7");
    EXPECT_THAT(refusal("format = 1\n[start]\ncommand = [\"a\"]\n[compares]\nWIDTH = \"\"\n"),
                HasSubstr("'WIDTH' in [compares] has no source"));
    const auto ddp = subject_named("ddp"), by_hand = subject_named("data_parallel");
    ASSERT_TRUE(ddp && by_hand);
    EXPECT_EQ(ddp->compares.count("model.seed"), 1u);
    EXPECT_TRUE(by_hand->compares.empty());
}

TEST(Manifest, OfEachShippedSubjectIsWellFormed) {
    const auto shipped = shipped_subjects();
    ASSERT_TRUE(shipped) << shipped.error().text();
    std::vector<std::string> names, usual;
    for (const Manifest& one : *shipped) {
        names.push_back(one.name);
        usual.insert(usual.end(), one.usual.begin(), one.usual.end());
        EXPECT_FALSE(one.says.empty()) << one.name;
    }
    EXPECT_THAT(names, Contains("ddp"));
    std::sort(usual.begin(), usual.end());
    EXPECT_EQ(std::adjacent_find(usual.begin(), usual.end()), usual.end()) << "two play one workload";
}

TEST(Manifest, ThatNobodyWroteIsRefusedWithTheNearestName) {
    const auto none = subject_named("dpp");
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, scenarios::ErrorCode::usage);
    EXPECT_THAT(none.error().text(), HasSubstr("ddp"));
}

TEST(Manifest, NeedsWhatThisPythonHasNot) {
    Manifest manifest;
    manifest.name = "mine";
    manifest.needs = {{"no_such_module_at_all", ""}};
    const Python python{.program = "/usr/bin/python3", .torch = "1.13", .origin = "the test"};
    const auto there = check_needs(manifest, python);
    ASSERT_FALSE(there);
    EXPECT_EQ(there.error().code, scenarios::ErrorCode::environment);
    EXPECT_THAT(there.error().text(), HasSubstr("no_such_module_at_all, which is not there"));
}

}  // namespace
}  // namespace deadrank::runners
