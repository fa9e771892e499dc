// tests/inject/faults_test.cpp — Goal: every fault of the catalog pulls the lever it says, with what its
// parameters say, takes back what can be taken back, and blames whom it breaks. A kind without a row here
// fails.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <set>

#include "inject/faults/fault_catalog.h"
#include "scenarios/model/kind_ids.h"
#include "tests/inject/fault_rows.h"
#include "tests/inject/recording_levers.h"

namespace deadrank::inject {
namespace {

using scenarios::FaultSpec;
using scenarios::ValueType;
using testing::RecordingLevers;
using testing::Row;
using testing::rows;
scenarios::Value value_of(const scenarios::Parameter& parameter, const std::string& text) {
    if (parameter.type != ValueType::ranks && parameter.type != ValueType::nodes) {
        return scenarios::parse_value(parameter.type, text).value();
    }
    scenarios::Value value{.type = parameter.type};
    for (const char digit : text) value.list.push_back(digit - '0');
    return value;
}

FaultSpec spec_of(const Row& row) {
    FaultSpec spec{.kind = row.kind};
    const FaultRow* kind = find_fault(fault_catalog(), row.kind);
    EXPECT_NE(kind, nullptr) << row.kind;
    for (const auto& [name, text] : row.given) {
        for (const scenarios::Parameter& parameter : kind->words.parameters) {
            if (parameter.name == name) spec.parameters[name] = value_of(parameter, text);
        }
        EXPECT_EQ(spec.parameters.count(name), 1u) << row.kind << " has no parameter " << name;
    }
    return spec;
}

class EveryFault : public ::testing::TestWithParam<Row> {};

TEST_P(EveryFault, PullsItsLeverAndTakesItBack) {
    const Row& row = GetParam();
    auto planned = make_fault(fault_catalog(), spec_of(row));
    ASSERT_TRUE(planned.has_value()) << planned.error().text();
    RecordingLevers levers;
    for (const Rank rank : planned->ranks) ASSERT_TRUE(planned->fault->apply(levers, rank).has_value());
    EXPECT_EQ(levers.pulls, row.pulls);
    levers.pulls.clear();
    for (const Rank rank : planned->ranks) planned->fault->revert(levers, rank);
    EXPECT_EQ(levers.pulls, row.undone);
}

TEST_P(EveryFault, BlamesWhomItBreaks) {
    const Row& row = GetParam();
    const auto planned = make_fault(fault_catalog(), spec_of(row)).value();
    const results::Blame blame = planned.fault->blame(RecordingLevers());
    EXPECT_EQ(blame.component, row.component);
    EXPECT_EQ(blame.variable, row.variable);
    EXPECT_EQ(blame.shard, row.shard);
    const auto ranks = planned.spec.ranks();
    if (!ranks.empty()) {
        EXPECT_EQ(std::vector<std::int64_t>(blame.ranks.begin(), blame.ranks.end()), ranks);
    }
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryFault, ::testing::ValuesIn(rows),
                         [](const ::testing::TestParamInfo<Row>& row) {
                             return row.param.kind + row.param.name;
                         });

TEST(FaultCatalog, HasARowInThisTestForEachKind) {
    std::set<std::string> tested;
    for (const Row& row : rows) tested.insert(row.kind);
    for (const FaultRow& kind : fault_catalog())
        EXPECT_EQ(tested.count(kind.words.name), 1u) << kind.words.name;
}

// Goal: code that compares a kind with an id means the row of that name.
TEST(FaultCatalog, HasTheNamesOfItsIds) {
    ASSERT_EQ(fault_catalog().size(), std::size(scenarios::fault_ids));
    for (std::size_t i = 0; i < fault_catalog().size(); ++i)
        EXPECT_EQ(fault_catalog()[i].words.name, static_cast<scenarios::FaultId>(i));
}

TEST(FaultCatalog, SaysWhatEachWordMeans) {
    for (const FaultRow& kind : fault_catalog()) {
        EXPECT_TRUE(kind.words.what.ends_with('.')) << kind.words.name;
        EXPECT_FALSE(kind.words.levers.empty()) << kind.words.name;
        for (const scenarios::Parameter& parameter : kind.words.parameters) {
            EXPECT_FALSE(parameter.what.empty()) << kind.words.name << "." << parameter.name;
            if (parameter.fallback.empty()) continue;
            EXPECT_TRUE(scenarios::parse_value(parameter.type, parameter.fallback))
                << kind.words.name << "." << parameter.name;
        }
    }
}

TEST(MakeFault, NamesTheNearestKindWhenThereIsNone) {
    const auto made = make_fault(fault_catalog(), {.kind = "kil_rank"});
    ASSERT_FALSE(made.has_value());
    EXPECT_NE(made.error().text().find("kill_rank"), std::string::npos) << made.error().text();
}

TEST(MakeFault, SaysWhichParameterIsMissing) {
    const auto made = make_fault(fault_catalog(), {.kind = "kill_rank"});
    ASSERT_FALSE(made.has_value());
    EXPECT_NE(made.error().what.find("'rank'"), std::string::npos) << made.error().text();
}

TEST(SwapRanks, RefusesAnythingButAPair) {
    auto planned = make_fault(fault_catalog(), spec_of({"swap_ranks", {{"rank", "123"}}, {}, {}})).value();
    RecordingLevers levers;
    EXPECT_FALSE(planned.fault->apply(levers, 1).has_value());
    EXPECT_TRUE(levers.pulls.empty());
}

}  // namespace
}  // namespace deadrank::inject
