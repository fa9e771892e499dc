// tests/runners/parity_page_test.cpp — Goal: what parity found survives a killed run as lines, and the page
// says of every scenario whether it agrees, why it does not, or why it was not played.
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runners/parity/parity.h"

namespace deadrank::runners {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ParityPage small_page() {
    ParityPage page{.backend = "local"};
    page.compared = {
        {"a/agrees", Parity::agree, {"straggler (rank 1)"}, {"straggler (rank 1)"}, "", "4 ranks", 1, true},
        {"a/explained", Parity::explained, {"hang (rank 1)"}, {}, "gloo tells its peers", "4 ranks"},
        {"a/silent", Parity::not_played, {}, {}, "the fault never found its moment", ""}};
    page.not_tried = {{.scenario = "b/one", .why = "the program played for real has no setting 'depth'"},
                      {.scenario = "b/two", .why = "the program played for real has no setting 'offload'"}};
    return page;
}

class ParityLines : public ::testing::Test {
protected:
    void SetUp() override {
        file_ = std::filesystem::path(::testing::TempDir()) /
                (std::string("deadrank_parity_") +
                 ::testing::UnitTest::GetInstance()->current_test_info()->name());
        std::filesystem::remove(file_);
    }
    void TearDown() override { std::filesystem::remove(file_); }
    std::filesystem::path file_;
};

TEST_F(ParityLines, ComeBackAndATornLastOneIsLeftOut) {
    const ParityPage page = small_page();
    std::ofstream out(file_);
    for (const Compared& one : page.compared) out << parity_line(one) << "\n";
    out << parity_line(page.compared[0]).substr(0, 30);
    out.close();
    const auto back = read_parity(file_);
    ASSERT_TRUE(back) << back.error().text();
    ASSERT_EQ(back->size(), 3u);
    EXPECT_EQ(back->at(1).scenario, "a/explained");
    EXPECT_EQ(back->at(1).parity, Parity::explained);
    EXPECT_EQ(back->at(1).simulated, page.compared[1].simulated);
    EXPECT_EQ(back->at(1).why, "gloo tells its peers");
}

TEST_F(ParityLines, KeepWhatWasPlayedWhereALaterRunCouldNot) {
    Compared played = small_page().compared[0], later{.scenario = played.scenario, .why = "too slow"};
    std::ofstream(file_) << parity_line(played) << "\n" << parity_line(later) << "\n";
    EXPECT_EQ(read_parity(file_)->front().parity, Parity::agree);
    std::ofstream(file_) << parity_line(later) << "\n" << parity_line(played) << "\n";
    EXPECT_EQ(read_parity(file_)->front().parity, Parity::agree);
}

TEST_F(ParityLines, AreRefusedWithTheirPlaceWhereTheyAreSomethingElse) {
    std::ofstream(file_) << parity_line(small_page().compared[0]) << "\n{\"verdict\": \"pass\"}\n";
    const auto back = read_parity(file_);
    ASSERT_FALSE(back);
    EXPECT_EQ(back.error().place.line, 2);
}

TEST_F(ParityLines, OfOlderRunsHaveTheSeedOfTheirFile) {
    Compared one = small_page().compared[0];
    std::string unsaid = parity_line(one);
    const std::string seed = "\"seed\":1,";
    ASSERT_NE(unsaid.find(seed), std::string::npos) << unsaid;
    unsaid.erase(unsaid.find(seed), seed.size());
    one.seed = 3;
    std::ofstream(file_) << unsaid << "\n" << parity_line(one) << "\n";
    const auto back = read_parity(file_, 7);
    ASSERT_TRUE(back) << back.error().text();
    ASSERT_EQ(back->size(), 2u) << "one scenario under two seeds is two lines";
    EXPECT_EQ(back->at(0).seed, 3u);
    EXPECT_EQ(back->at(1).seed, 7u);
}

TEST(ParityTable, CountsWhatWasPlayedAndWhyTheRestWasNot) {
    const std::string text = parity_table(small_page());
    EXPECT_THAT(text, HasSubstr("Of 5 scenarios, 2 were played"));
    EXPECT_THAT(text, HasSubstr("The simulator plays its gloo model"));
    EXPECT_THAT(text, HasSubstr("**The same findings in 50 %**. 3 cannot be played there."));
    EXPECT_THAT(text, HasSubstr("| | seed 1 | least | most |"));
    EXPECT_THAT(text, HasSubstr("| the same findings | 1 (50 %) | 50 % | 50 % |"));
    EXPECT_THAT(text, HasSubstr("| differ, and the scenario says why | 1 (50 %) | 50 % | 50 % |"));
    EXPECT_THAT(text, HasSubstr("| 2 | the program played for real has no setting … | depth, offload |"));
    EXPECT_THAT(text, HasSubstr("| 1 | the fault never found its moment |"));
    EXPECT_THAT(text, HasSubstr("| a/agrees | straggler (rank 1) | the same | 1 of 1 | agree |"));
    EXPECT_THAT(text, HasSubstr("| a/explained | hang (rank 1) | nothing | 0 of 1 | explained: gloo tells"));
    EXPECT_THAT(text, Not(HasSubstr("| a/silent | nothing")));
    EXPECT_THAT(text, Not(HasSubstr("◦")));
}

// A scenario under three seeds each: always the same, nothing at all, and apart under one of them.
ParityPage three_seeds() {
    ParityPage page{.backend = "mpi"};
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
        page.compared.push_back(
            {"a/agrees", Parity::agree, {"x (rank 1)"}, {"x (rank 1)"}, "", "", seed, true});
        page.compared.push_back({"b/quiet", Parity::agree, {}, {}, "", "", seed, false});
        page.compared.push_back({"c/other", Parity::agree, {"y ()"}, {"y ()"}, "", "", seed, false});
        page.compared.push_back({"d/parts", Parity::agree, {"z ()"}, {"z ()"}, "", "", seed, true});
        if (seed != 2) continue;
        page.compared.back().real.clear();
        conclude(page.compared.back(), "");
    }
    return page;
}

TEST(ParityTable, ShowsTheShareOfEachSeedTheLeastAndTheMost) {
    const std::string text = parity_table(three_seeds());
    EXPECT_THAT(text, HasSubstr("**The same findings in 75 to 100 %**, by seed; 3 agree under every seed, 1 "
                                "under some, 0 under none."));
    EXPECT_THAT(text, Not(HasSubstr("gloo")));
    EXPECT_THAT(text, HasSubstr("| the same findings | 4 (100 %) | 3 (75 %) | 4 (100 %) | 75 % | 100 % |"));
    EXPECT_THAT(text, HasSubstr("| a/agrees | x (rank 1) | the same | 3 of 3 | agree |"));
    EXPECT_THAT(text, HasSubstr("| d/parts | z () | nothing | 2 of 3 | differ under seed 2 |"));
}

// Goal: two that say nothing, or that agree on what the scenario does not expect, are no proof, and no row
// hides that.
TEST(ParityTable, CountsApartWhatAgreesOnNothingOrOnSomethingElse) {
    const std::string text = parity_table(three_seeds());
    EXPECT_THAT(text, HasSubstr("| … which the scenario expects | 2 (50 %) | 1 (25 %) | 2 (50 %) |"));
    EXPECT_THAT(text, HasSubstr("| … which are something else | 1 (25 %) | 1 (25 %) | 1 (25 %) |"));
    EXPECT_THAT(text, HasSubstr("| … nothing, on both sides | 1 (25 %) | 1 (25 %) | 1 (25 %) |"));
    EXPECT_THAT(text, HasSubstr("| b/quiet | nothing | the same | 3 of 3 | agree on nothing |"));
    EXPECT_THAT(text,
                HasSubstr("| c/other | y () | the same | 3 of 3 | agree, and not as the scenario expects |"));
}

TEST(ParityTable, MarksWhatIsKeptOutOfTuningAndCountsItApart) {
    ParityPage page = three_seeds();
    std::uint64_t number = 0;  // one that keeps d/parts out, and not a/agrees
    while (!is_held_out(number, "d/parts") || is_held_out(number, "a/agrees")) ++number;
    page.held_out = number;
    const std::string text = parity_table(page);
    EXPECT_THAT(text, HasSubstr(fmt::format("drawn by the number {}, is kept out", number)));
    EXPECT_THAT(text, HasSubstr("| d/parts ◦ |"));
    EXPECT_THAT(text, HasSubstr("| a/agrees |"));
    std::size_t held = 0;
    for (const auto& [scenario, seeds] : page.by_scenario()) held += is_held_out(number, scenario);
    EXPECT_THAT(text,
                HasSubstr(fmt::format("| kept out of tuning ◦: played by both | {0} | {0} | {0} |", held)));
    EXPECT_EQ(page.by_seed(true).at(2).agreed, held - 1);
}

TEST(HeldOut, IsAQuarterThatTheNumberAndTheNameDecide) {
    std::size_t held = 0, moved = 0;
    for (int i = 0; i < 4000; ++i) {
        const std::string name = fmt::format("stage/scenario_{}", i);
        held += is_held_out(20261123, name);
        moved += is_held_out(20261123, name) != is_held_out(20261124, name);
    }
    EXPECT_NEAR(static_cast<double>(held), 1000, 100);
    EXPECT_NEAR(static_cast<double>(moved), 1500, 150) << "another day, another quarter";
}

TEST_F(ParityLines, LeaveSomebodysPageAloneThatHasNoPlaceForThem) {
    std::ofstream(file_) << "# A page of mine\n";
    EXPECT_FALSE(write_parity_table(small_page(), file_));
    std::ofstream(file_) << "# Mine\n<!-- parity table -->\nold\n<!-- end of the parity table -->\nafter\n";
    ASSERT_TRUE(write_parity_table(small_page(), file_));
    std::ifstream in(file_);
    const std::string page((std::istreambuf_iterator<char>(in)), {});
    EXPECT_THAT(page, HasSubstr("a/agrees"));
    EXPECT_THAT(page, HasSubstr("after"));
    EXPECT_THAT(page, Not(HasSubstr("old")));
}

}  // namespace
}  // namespace deadrank::runners
