// tests/runners/parity_test.cpp — Goal: two backends agree when they name the same symptoms and ranks;
// another answer counts as explained only where the scenario says why, and one that was not played counts as
// nothing.
#include "runners/parity.h"

#include <gtest/gtest.h>

#include "runners/sim/vocabulary.h"
#include "tests/runners/fake_runner.h"

namespace deadrank::runners {
namespace {

using testing::FakeRunner;

FakeRunner plays(Record (*record)(), bool happens = true) {
    return FakeRunner([=](const scenarios::Plan&) -> scenarios::Result<Record> {
        Record played = record();
        if (happens) played.truth.marks.push_back({.kind = "fault.applied", .fault = 0});
        return played;
    });
}

TEST(Parity, IsOfSymptomsAndRanks) {
    const scenarios::Vocabulary vocabulary = runners::vocabulary();
    scenarios::Scenario scenario = testing::killed_rank_scenario();
    FakeRunner hung = plays(testing::hung_record), other = plays(testing::hung_record),
               quiet = plays(testing::finished_record), never = plays(testing::finished_record, false);
    const auto found = [&](Runner& reality) { return compare(scenario, {1}, hung, reality, 64, vocabulary); };
    EXPECT_EQ(found(other).parity, Parity::agree);
    EXPECT_FALSE(found(other).real.empty());
    EXPECT_EQ(found(quiet).parity, Parity::differ);
    EXPECT_EQ(listed(found(quiet).real), "nothing");
    EXPECT_EQ(found(never).parity, Parity::not_played);
    scenario.parity["fake"] = "that library tells its peers";
    EXPECT_EQ(found(quiet).parity, Parity::explained);
    EXPECT_EQ(found(quiet).why, "that library tells its peers");
}

TEST(ParityRate, CountsWhatWasPlayed) {
    ParityRate rate;
    for (const Parity one : {Parity::agree, Parity::agree, Parity::explained, Parity::not_played})
        rate.add(one);
    EXPECT_EQ(rate.text("local"),
              "2 of 3 scenarios have the same findings in sim and local (66 %); of the others 1 say why, "
              "0 do not");
}

}  // namespace
}  // namespace deadrank::runners
