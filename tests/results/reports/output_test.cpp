// tests/results/reports/output_test.cpp — Nothing that a log, a name or an alert holds steers a terminal, a
// spreadsheet or a CI service.
#include "results/reports/output.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "results/reports/style.h"

namespace deadrank::results::reports {
namespace {

// What a terminal would get.
std::string written(std::string_view text) {
    char* bytes = nullptr;
    std::size_t size = 0;
    std::FILE* stream = open_memstream(&bytes, &size);
    write_visible(stream, text);
    std::fclose(stream);
    std::string all(bytes, size);
    std::free(bytes);
    return all;
}

TEST(Visible, ShowsControlCharactersAsText) {
    EXPECT_EQ(visible("\033]0;owned\007"), "\\u001b]0;owned\\u0007");
    EXPECT_EQ(visible("\302\23331m"), "\\u009b31m") << "U+009B is CSI in one character";
    EXPECT_EQ(visible("a\rb\177"), "a\\u000db\\u007f");
    EXPECT_EQ(visible("\342\200\256evil"), "\\u202eevil") << "turns the direction of writing";
    EXPECT_EQ(visible("µs … 部\n\tx"), "µs … 部\n\tx");
    EXPECT_EQ(visible_line("a\nb\tc"), "a b c");
}

TEST(Visible, ReplacesWhatIsNoUtf8) {
    EXPECT_EQ(visible("\x9b"
                      "31m"),
              "\uFFFD31m")
        << "an 8-bit terminal takes this byte for CSI";
    EXPECT_EQ(visible("\xc0\x9b"), "\uFFFD\uFFFD") << "overlong";
    EXPECT_EQ(visible("\xe2\x80"), "\uFFFD\uFFFD") << "cut short";
    EXPECT_EQ(visible("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD") << "a surrogate";
}

TEST(Visible, LeavesJsonTheSameJson) {
    const nlohmann::json evil = {{"says", "\033[2J\302\233\177\342\200\256"}};
    EXPECT_EQ(nlohmann::json::parse(visible(evil.dump())), evil);
}

TEST(Writing, PassesOurColoursAlone) {
    const Style style{.color = true};
    EXPECT_EQ(written(style.paint(Ink::red, "fail")), "\033[31mfail\033[0m");
    EXPECT_EQ(written("rank 3 said \033[32mpass\033[0m"), "rank 3 said \\u001b[32mpass\\u001b[0m")
        << "a log in the colours of a verdict";
    EXPECT_EQ(written("\033[8mhidden\033[2J\033[1;31m"), "\\u001b[8mhidden\\u001b[2J\\u001b[1;31m");
}

TEST(Writing, BeginsNoLineWithACommandForCi) {
    EXPECT_EQ(written("rank 1 said:\n::error file=a::b\n##[error]x\n"),
              "rank 1 said:\n ::error file=a::b\n ##[error]x\n");
    EXPECT_EQ(written("::error::b\n"), " ::error::b\n");
    EXPECT_EQ(written("std::bad_alloc\n"), "std::bad_alloc\n");
}

TEST(CsvCell, IsNeverAFormula) {
    EXPECT_EQ(csv_cell("=HYPERLINK(\"x\")"), "\"'=HYPERLINK(\"\"x\"\")\"");
    EXPECT_EQ(csv_cell("@cmd"), "\"'@cmd\"");
    EXPECT_EQ(csv_cell("-1.5"), "\"-1.5\"") << "a number stays one";
    EXPECT_EQ(csv_cell("node \033[31m7"), "\"node \\u001b[31m7\"");
}

}  // namespace
}  // namespace deadrank::results::reports
