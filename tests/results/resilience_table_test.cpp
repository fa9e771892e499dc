// tests/results/resilience_table_test.cpp — Goal: the table of how frameworks reacted to each bug leads from
// each bad cell to a command, and the one that is shipped is what the command printed.
#include "results/reports/resilience_table.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <regex>
#include <sstream>

#include "results/text/text_file.h"

namespace deadrank::tests {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using results::Grade;
using results::Reaction;

const Grade hung_job{.reaction = Reaction::hung, .took = 66s, .says = "watched"};

// Goal: a bad cell leads to the command that shows it again; what could not be told is counted, never
// guessed.
TEST(ResilienceTable, HasACommandBehindEachBadCell) {
    const results::Subject ddp{"ddp", "PyTorch DDP", "torch 2.11.0", 10s};
    const std::string table = results::reports::resilience_table(
        {{"communication/a_bug", "cause_a", ddp, "deadrank run communication/a_bug --seed 1", hung_job},
         {"communication/b_bug", "cause_b", ddp, "unused", Grade{}},
         {"communication/c_bug", "cause_c", ddp, "unused", std::nullopt}});
    EXPECT_NE(table.find("| a\\_bug | cause\\_a | [**hang ≥ 66 s**](#b1) |"), std::string::npos) << table;
    EXPECT_NE(table.find("| b\\_bug | cause\\_b | unaffected |"), std::string::npos) << table;
    EXPECT_NE(table.find("`deadrank run communication/a_bug --seed 1`"), std::string::npos) << table;
    EXPECT_EQ(table.find("unused"), std::string::npos) << table;
    EXPECT_NE(table.find("1 trial could not be told"), std::string::npos) << table;
}

// Goal: a front page counts each framework's answers, one under another debug level apart, and what could not
// be told not at all.
TEST(ResilienceSummary, HasARowForEachFramework) {
    const results::Subject ddp{"ddp", "PyTorch DDP", "torch 2.11.0", 10s};
    const results::Subject louder{"ddp", "PyTorch DDP", "torch 2.11.0", 10s, "DETAIL"};
    const Grade clear{.reaction = Reaction::clear_error, .took = 1s, .says = "words"};
    const std::string text = results::reports::resilience_summary({{"a", "cause", ddp, "", hung_job},
                                                                   {"b", "cause", ddp, "", hung_job},
                                                                   {"a", "cause", louder, "", clear},
                                                                   {"c", "cause", ddp, "", std::nullopt}});
    EXPECT_NE(text.find("2 bugs over 2 frameworks, 3 runs"), std::string::npos) << text;
    EXPECT_NE(text.find("| PyTorch DDP (torch 2.11.0) | 2 | | | | 2 | | | |"), std::string::npos) << text;
    EXPECT_NE(text.find("| PyTorch DDP (torch 2.11.0, debug DETAIL) | 1 | 1 | | | | | | |"),
              std::string::npos)
        << text;
}

// Goal: what run printed makes the same table again; a torn last line costs itself, any other one is named.
TEST(Standings, AreReadBackFromLinesOfJson) {
    namespace reports = results::reports;
    const results::Subject ddp{"ddp", "PyTorch DDP", "torch 2.11.0", 0s, "DETAIL"};
    const std::vector<results::ResilienceCell> written = {
        {"a", "cause", ddp, "deadrank run a", hung_job},
        {"b", "cause", ddp, "deadrank run b", Grade{.reaction = Reaction::completed}},
        {"c", "cause", ddp, "deadrank run c", std::nullopt, "too slow"}};
    const fs::path file = fs::path(testing::TempDir()) / "deadrank_lines.jsonl";
    {
        std::ofstream out(file);
        for (const auto& one : written)
            out << reports::with_standing("{\"scenario\":\"" + one.scenario + "\"}", one) << "\n";
        out << "{\"scenario\":\"simulated\"}\n{\"torn";
    }
    const auto read = reports::read_standings(file);
    ASSERT_TRUE(read) << read.error().text();
    ASSERT_EQ(read->size(), 3u);
    EXPECT_EQ(reports::resilience_table(*read), reports::resilience_table(written));
    EXPECT_EQ((*read)[2].untold, "too slow");
    EXPECT_EQ((*read)[0].subject.debug, "DETAIL");
    std::ofstream(file) << "not json\n{}\n";
    const auto refused = reports::read_standings(file);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().text().find("deadrank_lines.jsonl:1"), std::string::npos)
        << refused.error().text();
    fs::remove(file);
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

// Goal: the table of the page is one that the command printed: its frame, its words for cells, and behind
// each bad cell a numbered note with a command over a scenario and a subject that are there. Not its times.
TEST(ResilienceTable, OfThePageHasTheFormOfWhatIsPrinted) {
    namespace reports = results::reports;
    const fs::path source(DEADRANK_SOURCE_DIRECTORY);
    const std::string page = *reports::read_text(source / "runners" / "backends" / "local" / "RESILIENCE.md");
    const std::string frame = reports::resilience_table({});
    const std::string intro = frame.substr(0, frame.find("\n\n"));
    const std::size_t begin = page.find(intro), end = page.find("<!-- end of the resilience table -->");
    ASSERT_NE(begin, std::string::npos) << "no table between the marks, or its first lines have changed";
    ASSERT_NE(end, std::string::npos);
    std::istringstream lines(page.substr(begin, end - begin));
    std::string words;
    for (const results::TableWord& word : results::table_words)
        words += (words.empty() ? "" : "|") + std::string(word.text);
    const std::regex cell("( |( (" + words + ")( \\d+ s)? )|( \\[\\*\\*(" + words +
                          ")( (≥ )?\\d+ s)?\\*\\*\\]\\(#b(\\d+)\\) ))");
    const std::regex again(
        "   `deadrank run (\\S+) --seed \\d+ --runner local --ranks \\d+ (--debug \\S+ )?--subject "
        "(\\S+)`");
    std::size_t rows = 0, bad = 0, notes = 0, cells = 0;
    for (std::string line; std::getline(lines, line);) {
        std::smatch found;
        if (std::regex_match(line, found, again)) {
            ++notes;
            const fs::path file = source / found[1].str();
            EXPECT_TRUE(fs::exists(file) ||
                        fs::exists(source / "scenarios" / "catalog" / (found[1].str() + ".toml")))
                << line;
            EXPECT_TRUE(fs::exists(source / "runners/backends/local/subjects" / (found[3].str() + ".toml")))
                << line;
        }
        if (!line.starts_with("| ") || line.starts_with("| bug |")) continue;
        ++rows;
        std::size_t at = line.find('|', line.find('|', 1) + 1);  // behind bug and cause
        for (std::size_t next; (next = line.find('|', at + 1)) != std::string::npos; at = next) {
            const std::string text = line.substr(at + 1, next - at - 1);
            EXPECT_TRUE(std::regex_match(text, found, cell)) << "'" << text << "' in " << line;
            cells += text != " ";
            if (text.find("**") != std::string::npos) {
                EXPECT_EQ(std::stoul(found[9]), ++bad) << line;
            }
        }
    }
    EXPECT_GE(rows, 40u);
    EXPECT_GE(cells, 80u);
    EXPECT_EQ(notes, bad);
}

}  // namespace
}  // namespace deadrank::tests
