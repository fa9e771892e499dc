// tests/results/resilience_table_test.cpp — Goal: the table of how frameworks reacted to each bug leads from
// each bad cell to a command, and the one that is shipped is what the command printed.
#include "results/reports/resilience_table.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "results/record/text_file.h"
#include "scenarios/model/document.h"
#include "tests/support/shell.h"

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

// Goal: several runs are one cell. Where they differ each reaction has its count, the cell is as bad as its
// worst run, and leads to that one; where they do not, their seconds are a range.
TEST(ResilienceTable, ShowsSeveralRunsAsOneCell) {
    const results::Subject ddp{"ddp", "PyTorch DDP", "torch 2.11.0", 10s};
    const auto clear = [](results::Time took) {
        return Grade{.reaction = Reaction::clear_error, .took = took, .says = "named"};
    };
    std::vector<results::ResilienceCell> runs = {
        {"x/first", "cause", ddp, "deadrank run well", clear(1s), "", 1},
        {"x/first", "cause", ddp, "deadrank run badly", hung_job, "", 2},
        {"x/first", "cause", ddp, "deadrank run well", clear(3s), "", 3},
        {"x/second", "cause", ddp, "unused", clear(1s), "", 1, "after"},
        {"x/second", "cause", ddp, "unused", clear(3s), "", 2, "after"}};
    const std::string table = results::reports::resilience_table(runs);
    EXPECT_NE(table.find("| first | cause | [**clear error 2, hang 1**](#b1) |"), std::string::npos) << table;
    EXPECT_NE(table.find("clear error: named; hang: watched  \n   `deadrank run badly`"), std::string::npos)
        << table;
    EXPECT_NE(table.find("2 cells of 2 to 3 runs each. In 1 the runs differ"), std::string::npos) << table;
    EXPECT_NE(table.find("1 clear error · 1 differ from run to run"), std::string::npos) << table;
    runs.erase(runs.begin(), runs.begin() + 3);
    const std::string alike = results::reports::resilience_table(runs);
    EXPECT_NE(alike.find("| clear error 1 to 3 s † |"), std::string::npos) << alike;
    EXPECT_NE(alike.find("† (1 cell)"), std::string::npos) << alike;
    EXPECT_NE(alike.find("1 cell of 2 runs."), std::string::npos) << alike;
    EXPECT_EQ(alike.find("differ:"), std::string::npos) << alike;
}

// Goal: what nobody promised to check is neither good nor bad: it leads to its words, and is not bold.
TEST(ResilienceTable, SetsWhatNobodyPromisedApart) {
    const results::Subject ddp{"ddp", "PyTorch DDP", "torch 2.11.0", 10s};
    const std::string table =
        results::reports::resilience_table({{"a/bug", "cause", ddp, "deadrank run a",
                                             Grade{.reaction = Reaction::not_checked, .says = "rate"}}});
    EXPECT_NE(table.find("| [*not checked*](#b1) |"), std::string::npos) << table;
    EXPECT_NE(table.find("*not checked* (1 cell): a wrong result by a setting"), std::string::npos) << table;
    EXPECT_FALSE(is_good(Reaction::not_checked));
    EXPECT_FALSE(is_bad(Reaction::not_checked));
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
    EXPECT_NE(text.find("2 bugs over 2 frameworks, 3 cells of 1 run each:"), std::string::npos) << text;
    EXPECT_NE(text.find("| PyTorch DDP (torch 2.11.0) | 2 | | | | 2 | | | | | |"), std::string::npos) << text;
    EXPECT_NE(text.find("| PyTorch DDP (torch 2.11.0, debug DETAIL) | 1 | 1 | | | | | | | | |"),
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
        {"b", "cause", ddp, "deadrank run b", hung_job, "", 2, "after"},
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
    ASSERT_EQ(read->size(), 4u);
    EXPECT_EQ(reports::resilience_table(*read), reports::resilience_table(written));
    EXPECT_EQ((*read)[2].run, 2);
    EXPECT_EQ((*read)[2].known, "after");
    EXPECT_EQ((*read)[3].untold, "too slow");
    EXPECT_EQ((*read)[0].subject.debug, "DETAIL");
    std::ofstream(file) << "not json\n{}\n";
    const auto refused = reports::read_standings(file);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().text().find("deadrank_lines.jsonl:1"), std::string::npos)
        << refused.error().text();
    fs::remove(file);
}

// Goal: a line without any one of its keys, or with a number in its place, is refused and harms nothing. The
// texts are too long to lie inside their strings, so that one freed twice ends the test.
TEST(Standings, AreRefusedWithAnyKeyMissing) {
    namespace reports = results::reports;
    const std::string text(100, 'x');
    const results::Subject subject{text, text, text, 0s, text};
    const results::ResilienceCell cell{text, text, subject, text, Grade{.reaction = Reaction::completed}};
    const auto line = nlohmann::json::parse(reports::with_standing("{\"scenario\":\"" + text + "\"}", cell));
    const fs::path file = fs::path(testing::TempDir()) / "deadrank_keys.jsonl";
    const auto refused = [&](const nlohmann::json& altered) {
        std::ofstream(file) << altered.dump() << "\n\n";
        return !reports::read_standings(file);
    };
    EXPECT_FALSE(refused(line));
    for (const char* pointer :
         {"/scenario", "/cause", "/again", "/stood", "/subject/name", "/subject/framework",
          "/subject/version", "/stood/response", "/stood/took", "/stood/says"}) {
        const nlohmann::json::json_pointer at(pointer);
        nlohmann::json without = line, other = line;
        without.at(at.parent_pointer()).erase(at.back());
        other.at(at) = std::string(pointer) == "/stood/took" ? nlohmann::json("soon") : nlohmann::json(7);
        EXPECT_TRUE(refused(without)) << pointer;
        EXPECT_TRUE(refused(other)) << pointer;
    }
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
    EXPECT_EQ(*scenarios::read_text(file), once);
    EXPECT_EQ(once.find("\nold\n"), std::string::npos);
    EXPECT_TRUE(once.starts_with("# Mine\n") && once.ends_with("rest\n")) << once;

    std::ofstream(file) << "# Mine, too\n";
    EXPECT_FALSE(reports::write_resilience_table({}, file));
    EXPECT_EQ(*scenarios::read_text(file), "# Mine, too\n");
    fs::remove(file);
}

// Goal: the table of the page is one that the command printed: its frame, its words for cells, and behind
// each bad cell a numbered note with a command over a scenario and a subject that are there. Not its times.
TEST(ResilienceTable, OfThePageHasTheFormOfWhatIsPrinted) {
    namespace reports = results::reports;
    const fs::path source(DEADRANK_SOURCE_DIRECTORY);
    const std::string page = *scenarios::read_text(source / "docs" / "measurements" / "resilience.md");
    const std::string frame = reports::resilience_table({});
    const std::string intro = frame.substr(0, frame.find("\n\n"));
    const std::size_t begin = page.find(intro), end = page.find("<!-- end of the resilience table -->");
    ASSERT_NE(begin, std::string::npos) << "no table between the marks, or its first lines have changed";
    ASSERT_NE(end, std::string::npos);
    std::istringstream lines(page.substr(begin, end - begin));
    std::string words;
    for (const results::TableWord& word : results::table_words)
        words += (words.empty() ? "" : "|") + std::string(word.text);
    const std::string took = "( (≥ )?\\d+( to \\d+)? s)?";
    const std::string told =
        "((" + words + ")" + took + "|(" + words + ") \\d+(, (" + words + ") \\d+)+)( †)?";
    const std::regex cell("( |( " + told + " )|( \\[\\*\\*?" + told + "\\*\\*?\\]\\(#b(\\d+)\\) ))");
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
            if (text.find("](#b") != std::string::npos) {
                EXPECT_EQ(std::stoul(found[found.size() - 1]), ++bad) << line;
            }
        }
    }
    EXPECT_GE(rows, 40u);
    EXPECT_GE(cells, 80u);
    EXPECT_EQ(notes, bad);
}

// A stand-in for deadrank: its third run of a bug hangs, and it tells nothing of the bug "unsure" but once.
constexpr std::string_view stand_in = R"(#!/usr/bin/env python3
import json, pathlib, sys
if sys.argv[1:3] == ["report", "resilience"]:
    at = sys.argv.index("--table")
    lines = [pathlib.Path(file).read_text() for file in sys.argv[3:at]]
    pathlib.Path(sys.argv[at + 1]).write_text("".join(lines))
    sys.exit()
count = pathlib.Path(__file__).with_name("count")
run = len(count.read_text()) + 1 if count.exists() else 1
count.write_text("x" * run)
for word in sys.argv:
    if word.startswith("x/"):
        told = {"response": "hang" if run == 3 and word == "x/parts" else "clear_error", "says": "words"}
        unsure = word == "x/unsure" and run > 1
        print(json.dumps({"scenario": word, "stood": None if unsure else told, "untold": "too slow"}))
)";

// Goal: the suite plays each cell as often as it is asked to, once, agrees only where every run is among the
// known, and gives the page when that was written down.
TEST(FrameworksSuite, JudgesACellByAllOfItsRuns) {
    const fs::path place = fs::path(testing::TempDir()) / "deadrank_frameworks_suite";
    fs::remove_all(place);
    fs::create_directories(place);
    std::ofstream(place / "program") << stand_in;
    fs::permissions(place / "program", fs::perms::owner_all);
    std::ofstream(place / "known.toml") << "[\"x/agrees\".before]\nmine = [\"clear_error\"]\n"
                                           "[\"x/parts\".before]\nmine = [\"clear_error\"]\n"
                                           "[\"x/both\".after]\nmine = [\"clear_error\", \"hang\"]\n"
                                           "[\"x/unsure\".before]\nmine = [\"clear_error\"]\n";
    const std::string command = "python3 " DEADRANK_SOURCE_DIRECTORY "/.ci/frameworks.py " +
                                (place / "program").string() + " --runs 3 --reactions " +
                                (place / "known.toml").string() + " --lines " + (place / "lines").string() +
                                " --table " + (place / "table").string();
    const std::string said = shell(command).out;
    EXPECT_NE(said.find("run       Frameworks.x/agrees.mine: clear_error: words"), std::string::npos) << said;
    EXPECT_NE(said.find("known is clear_error, seen was clear_error 2, hang 1: words"), std::string::npos)
        << said;
    EXPECT_NE(said.find("1 of 3 runs were told: clear_error"), std::string::npos) << said;
    EXPECT_NE(said.find("3 bugs, 3 cells of 3 runs told: 2 agree, 1 differ; 1 not told in every run"),
              std::string::npos)
        << said;
    const std::string lines = *scenarios::read_text(place / "table");
    EXPECT_NE(lines.find("\"run\": 3, \"known\": \"after\"}"), std::string::npos) << lines;
    // Only what was not told is played again, and the page is made from what was kept.
    std::ofstream(place / "count") << "xxxxxxxx";
    shell(command);
    EXPECT_EQ(scenarios::read_text(place / "count")->size(), 10u) << "two runs of one bug are missing";
    fs::remove_all(place);
}

}  // namespace
}  // namespace deadrank::tests
