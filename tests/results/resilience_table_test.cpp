// tests/results/resilience_table_test.cpp — Goal: the table of how frameworks stood each bug leads from each
// bad cell to a command, and goes to its place on a page.
#include "results/reports/resilience_table.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "results/reports/text_file.h"

namespace deadrank::tests {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using results::Response;

// Goal: a bad cell leads to the command that shows it again; what could not be told is counted, never
// guessed.
TEST(ResilienceTable, HasACommandBehindEachBadCell) {
    const results::Subject ddp{"ddp", "PyTorch DDP", "torch 2.11.0", 10s};
    const std::string table = results::reports::resilience_table(
        {{"communication/a_bug", "cause_a", ddp, "deadrank run communication/a_bug --seed 1",
          results::Resilience{Response::hang, 66s, "watched"}},
         {"communication/b_bug", "cause_b", ddp, "unused", results::Resilience{}},
         {"communication/c_bug", "cause_c", ddp, "unused", std::nullopt}});
    EXPECT_NE(table.find("| a\\_bug | cause\\_a | [**hang ≥ 66 s**](#b1) |"), std::string::npos) << table;
    EXPECT_NE(table.find("| b\\_bug | cause\\_b | unaffected |"), std::string::npos) << table;
    EXPECT_NE(table.find("`deadrank run communication/a_bug --seed 1`"), std::string::npos) << table;
    EXPECT_EQ(table.find("unused"), std::string::npos) << table;
    EXPECT_NE(table.find("1 trial could not be told"), std::string::npos) << table;
}

// Goal: a page of somebody's own keeps everything but what stands between the two lines, and is never
// overwritten.
TEST(ResilienceTable, GoesToItsPlaceOnAPageAndNowhereElse) {
    namespace reports = results::reports;
    const fs::path file = fs::path(testing::TempDir()) / "deadrank_page.md";
    const std::string page =
        "# Mine\n<!-- resilience table -->\nold\n<!-- end of the resilience table -->\nrest\n";
    std::ofstream(file) << page;
    ASSERT_TRUE(reports::write_resilience_table({}, file));
    ASSERT_TRUE(reports::write_resilience_table({}, file));
    const std::string once = reports::between_table_marks(page, reports::resilience_table({}));
    EXPECT_EQ(*reports::read_text(file), once);
    EXPECT_EQ(once.find("\nold\n"), std::string::npos);
    EXPECT_TRUE(once.starts_with("# Mine\n") && once.ends_with("rest\n")) << once;

    std::ofstream(file) << "# Mine, too\n";
    EXPECT_FALSE(reports::write_resilience_table({}, file));
    EXPECT_EQ(*reports::read_text(file), "# Mine, too\n");
    fs::remove(file);
}

}  // namespace
}  // namespace deadrank::tests
