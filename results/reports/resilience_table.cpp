// results/reports/resilience_table.cpp — The resilience table in Markdown, and its place in a page.
#include "results/reports/resilience_table.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include "results/text/text_file.h"
#include "results/text/words.h"

namespace deadrank::results::reports {

// Cells give reaction and seconds; below, each bad one with its words and the command that reproduces it.

namespace {

constexpr std::string_view written_by = "<!-- Written by `deadrank run --table`; not by hand. -->";
constexpr PagePlace table_place{"<!-- resilience table -->", "<!-- end of the resilience table -->",
                                written_by};
constexpr PagePlace summary_place{"<!-- resilience summary -->", "<!-- end of the resilience summary -->",
                                  written_by};

std::string row_of(const ResilienceCell& one) { return one.scenario.substr(one.scenario.find('/') + 1); }

// "hang ≥ 66 s"
std::string cell_words(const Grade& grade) {
    const std::string took = took_text(grade);
    return fmt::format("{}{}{}", table_word(grade.reaction).text, took.empty() ? "" : " ", took);
}

class Table {
public:
    void add(const ResilienceCell& one) {
        if (one.subject.name.empty()) return;
        if (!one.grade) {
            ++untold_;
            return;
        }
        const std::string column = framework_text(one.subject);
        if (std::find(columns_.begin(), columns_.end(), column) == columns_.end()) columns_.push_back(column);
        auto& cell = cells_[{one.cause, row_of(one)}][column];
        if (!cell || (is_good(cell->grade->reaction) && !is_good(one.grade->reaction))) cell = &one;
        ++counts_[{column, table_word(one.grade->reaction).text}];
    }

    std::string text() const {
        std::string text = "| bug | cause |";
        for (const std::string& column : columns_) text += fmt::format(" {} |", plain_cell(column));
        text += "\n|---|---|";
        for (std::size_t i = 0; i < columns_.size(); ++i) text += "---|";
        text += "\n";
        std::string notes;
        int number = 0;
        for (const auto& [key, cells] : cells_) {
            text += fmt::format("| {} | {} |", plain_cell(key.second), plain_cell(key.first));
            for (const std::string& column : columns_) {
                const auto found = cells.find(column);
                text += found == cells.end() ? " |" : cell_text(*found->second, number, notes);
            }
            text += "\n";
        }
        return text + summary() + notes;
    }

private:
    static std::string cell_text(const ResilienceCell& one, int& number, std::string& notes) {
        const Grade& grade = *one.grade;
        const std::string words = cell_words(grade);
        if (is_good(grade.reaction)) return fmt::format(" {} |", words);
        ++number;
        notes += fmt::format("{}. <a id=\"b{}\"></a>**{}**, {}: {}: {}  \n   `{}`\n", number, number,
                             plain_cell(row_of(one)), plain_cell(framework_text(one.subject)), words,
                             plain_cell(grade.says), one.again);
        return fmt::format(" [**{}**](#b{}) |", words, number);
    }

    std::string summary() const {
        std::string text = "\n";
        for (const std::string& column : columns_) {
            text += fmt::format("- {}:", plain_cell(column));
            const char* between = " ";
            for (const TableWord& word : table_words) {
                const auto found = counts_.find({column, word.text});
                if (found == counts_.end()) continue;
                text += fmt::format("{}{} {}", between, found->second, word.text);
                between = " · ";
            }
            text += "\n";
        }
        if (untold_ > 0)
            text += fmt::format("- {} could not be told: not played here, or the fault never happened\n",
                                counted(untold_, "trial"));
        return text + "\n";
    }

    std::vector<std::string> columns_;  // in order of first use
    std::map<std::pair<std::string, std::string>, std::map<std::string, const ResilienceCell*>> cells_;
    std::map<std::pair<std::string, std::string_view>, int> counts_;
    std::size_t untold_ = 0;
};

}  // namespace

std::string framework_text(const Subject& subject) {
    std::string more = subject.version;
    if (!subject.debug.empty()) more += fmt::format("{}debug {}", more.empty() ? "" : ", ", subject.debug);
    return more.empty() ? subject.framework : fmt::format("{} ({})", subject.framework, more);
}

std::string took_text(const Grade& grade) {
    if (grade.took == never) return "";
    const double seconds = static_cast<double>(grade.took.count()) / 1e9;
    return fmt::format("{}{:.0f} s", grade.reaction == Reaction::hung ? "≥ " : "", seconds);
}

std::string between_table_marks(std::string page, std::string_view table) {
    return in_place(std::move(page), table_place, table);
}

std::string resilience_table(const std::vector<ResilienceCell>& standings) {
    Table table;
    for (const ResilienceCell& one : standings) table.add(one);
    return fmt::format(
        "{}\n"
        "A good cell is plain. A bad one is bold and links to its error text and the command that "
        "reproduces it.\nA hang is a job without a step for more than {} times its time-out.\n\n{}",
        written_by, hang_multiple, table.text());
}

scenarios::Result<void> write_resilience_table(const std::vector<ResilienceCell>& standings,
                                               const std::filesystem::path& file) {
    return write_in_place(resilience_table(standings), table_place, file);
}

std::string resilience_summary(const std::vector<ResilienceCell>& standings) {
    std::vector<std::string> frameworks;
    std::map<std::pair<std::string, std::string_view>, int> counts;
    std::map<std::string, int> told;
    std::set<std::string> bugs;
    int all = 0;
    for (const ResilienceCell& one : standings) {
        if (!one.grade) continue;
        const std::string framework = framework_text(one.subject);
        if (std::find(frameworks.begin(), frameworks.end(), framework) == frameworks.end())
            frameworks.push_back(framework);
        ++counts[{framework, table_word(one.grade->reaction).text}];
        ++told[framework];
        bugs.insert(one.scenario);
        ++all;
    }
    std::string text =
        fmt::format("{}\n{} over {}, {}:\n\n| framework | bugs |", written_by, counted(bugs.size(), "bug"),
                    counted(frameworks.size(), "framework"), counted(static_cast<std::size_t>(all), "run"));
    for (const TableWord& word : table_words) text += fmt::format(" {} |", word.text);
    text += "\n|---|---|";
    for (std::size_t i = 0; i < table_words.size(); ++i) text += "---|";
    text += "\n";
    for (const std::string& framework : frameworks) {
        text += fmt::format("| {} | {} |", plain_cell(framework), told[framework]);
        for (const TableWord& word : table_words) {
            const auto found = counts.find({framework, word.text});
            text += found == counts.end() ? " |" : fmt::format(" {} |", found->second);
        }
        text += "\n";
    }
    return text;
}

scenarios::Result<void> write_resilience_summary(const std::vector<ResilienceCell>& standings,
                                                 const std::filesystem::path& file) {
    return write_in_place(resilience_summary(standings), summary_place, file);
}

std::string standing_line(const ResilienceCell& standing, const Style& style) {
    if (!standing.grade) return {};
    const Grade& grade = *standing.grade;
    const std::string took = grade.took == never ? "" : ", " + duration_text(grade.took);
    const std::string words = fmt::format("{}: {}", framework_text(standing.subject), one_line(grade.says));
    const std::string head = fmt::format("{}{}", table_word(grade.reaction).text, took);
    const std::size_t used = 6 + columns_of(head) + 3;
    const std::size_t room = style.width > used + 20 ? style.width - used : 0;
    return fmt::format("      {} · {}\n", style.paint(is_good(grade.reaction) ? Ink::green : Ink::red, head),
                       style.paint(Ink::dim, style.cut(words, room)));
}

// Text outside the two marker lines is never touched.

std::string in_place(std::string page, const PagePlace& place, std::string_view text) {
    const std::size_t begin = page.find(place.begin), end = page.find(place.end);
    if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
    const std::size_t from = begin + place.begin.size();
    return page.replace(from, end - from, fmt::format("\n{}", text));
}

scenarios::Result<void> write_in_place(const std::string& text, const PagePlace& place,
                                       const std::filesystem::path& file) {
    const auto page = std::filesystem::exists(file) ? read_text(file) : scenarios::Result<std::string>("");
    if (!page) return tl::unexpected(page.error());
    if (page->empty() || page->starts_with(place.written_by)) return write_text(text, file);
    const std::string with_text = in_place(*page, place, text);
    if (!with_text.empty()) return write_text(with_text, file);
    return scenarios::refuse(
        scenarios::ErrorCode::usage,
        fmt::format("'{}' is a page of yours and has no place for the table", file.string()),
        fmt::format("add the lines {} and {}, or name another file", place.begin, place.end));
}

std::string plain_cell(std::string text) {
    for (std::size_t at = 0; (at = text.find_first_of("|<>`*_", at)) != std::string::npos; at += 2)
        text.insert(at, "\\");
    return text;
}

}  // namespace deadrank::results::reports
