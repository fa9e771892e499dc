// tests/runners/parity_page_test.cpp — Goal: what parity found survives a killed run as lines, and the page
// says of every scenario whether it agrees, why it does not, or why it was not played.
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runners/studies/parity.h"

namespace deadrank::runners {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ParityPage small_page() {
    ParityPage page{.backend = "local"};
    page.compared = {
        {"a/agrees", Parity::agree, {"straggler (rank 1)"}, {"straggler (rank 1)"}, "", "4 ranks"},
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

TEST(ParityTable, CountsWhatWasPlayedAndWhyTheRestWasNot) {
    const std::string text = parity_table(small_page());
    EXPECT_THAT(text, HasSubstr("Of 5 scenarios, 2 were played"));
    EXPECT_THAT(text,
                HasSubstr("**1 have the same findings (50 %)**, 1 differ and say why, 0 differ without"));
    EXPECT_THAT(text, HasSubstr("| 2 | the program played for real has no setting … | depth, offload |"));
    EXPECT_THAT(text, HasSubstr("| 1 | the fault never found its moment |"));
    EXPECT_THAT(text, HasSubstr("| a/agrees | straggler (rank 1) | the same | agree |"));
    EXPECT_THAT(text,
                HasSubstr("| a/explained | hang (rank 1) | nothing | explained: gloo tells its peers |"));
    EXPECT_THAT(text, Not(HasSubstr("| a/silent | nothing")));
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
