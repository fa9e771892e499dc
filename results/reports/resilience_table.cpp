// results/reports/resilience_table.cpp — The resilience table in Markdown, and its place in a page.
#include "results/reports/resilience_table.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "results/record/text_file.h"
#include "results/record/words.h"
#include "results/reports/output.h"
#include "scenarios/model/document.h"

namespace deadrank::results::reports {

// ── Cells give reaction and seconds; below, each bad one with its words and the command that reproduces it.

namespace {

constexpr std::string_view written_by = "<!-- Written by `deadrank run --table`; not by hand. -->";
constexpr PagePlace table_place{"<!-- resilience table -->", "<!-- end of the resilience table -->",
                                written_by};
constexpr PagePlace summary_place{"<!-- resilience summary -->", "<!-- end of the resilience summary -->",
                                  written_by};

std::string row_of(const ResilienceCell& one) { return one.scenario.substr(one.scenario.find('/') + 1); }

// All told runs of one bug and one program.
struct Cell {
    std::vector<const ResilienceCell*> runs;  // never empty

    const Grade& first() const { return *runs.front()->grade; }
    std::size_t count(const TableWord& word) const {
        return static_cast<std::size_t>(std::count_if(
            runs.begin(), runs.end(),
            [&](const ResilienceCell* one) { return table_word(one->grade->reaction).id == word.id; }));
    }
    bool differ() const { return count(table_word(first().reaction)) < runs.size(); }
    bool any(bool (*is)(Reaction)) const {
        return std::any_of(runs.begin(), runs.end(),
                           [&](const ResilienceCell* one) { return is(one->grade->reaction); });
    }
    bool bad() const { return any(is_bad); }
    bool unchecked() const {
        return any([](Reaction reaction) { return reaction == Reaction::not_checked; });
    }
    bool set_after() const { return runs.front()->known == "after"; }

    std::string words() const;
    std::string says() const;
    std::string again() const;
};

// "1 s" of one run, or of several alike; "1 to 3 s"; of hangs the shortest.
std::string took_of(const std::vector<const ResilienceCell*>& runs) {
    const auto [least, most] = std::minmax_element(
        runs.begin(), runs.end(),
        [](const ResilienceCell* a, const ResilienceCell* b) { return a->grade->took < b->grade->took; });
    const std::string from = took_text(*(*least)->grade), to = took_text(*(*most)->grade);
    if (from == to || to.empty() || from.starts_with("≥")) return from;
    return fmt::format("{} to {}", from.substr(0, from.find(' ')), to);
}

// "hang ≥ 66 s"; "clear error 2, hang 1" where the runs differ.
std::string Cell::words() const {
    std::string text;
    for (const TableWord& word : table_words) {
        if (differ() && count(word) > 0)
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", word.text, count(word));
    }
    if (text.empty()) {
        const std::string took = took_of(runs);
        text = fmt::format("{}{}{}", table_word(first().reaction).text, took.empty() ? "" : " ", took);
    }
    return text + (set_after() ? " †" : "");
}

// What the first run of each reaction said.
std::string Cell::says() const {
    if (!differ()) return first().says;
    std::string text;
    for (const TableWord& word : table_words) {
        const auto found = std::find_if(runs.begin(), runs.end(), [&](const ResilienceCell* one) {
            return table_word(one->grade->reaction).id == word.id;
        });
        if (found == runs.end()) continue;
        text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", word.text, (*found)->grade->says);
    }
    return text;
}

std::string Cell::again() const {
    const auto bad = std::find_if(runs.begin(), runs.end(),
                                  [](const ResilienceCell* one) { return is_bad(one->grade->reaction); });
    return (bad == runs.end() ? runs.front() : *bad)->again;
}

// Cells by (cause, bug) and by framework, the frameworks in order of first use.
struct Cells {
    explicit Cells(const std::vector<ResilienceCell>& standings) {
        for (const ResilienceCell& one : standings) {
            if (one.subject.name.empty()) continue;
            untold += !one.grade;
            if (one.grade) add(one);
        }
    }

    void add(const ResilienceCell& one) {
        const std::string column = framework_text(one.subject);
        if (std::find(columns.begin(), columns.end(), column) == columns.end()) columns.push_back(column);
        rows[{one.cause, row_of(one)}][column].runs.push_back(&one);
    }

    template <class Visit>
    void each(const Visit& visit) const {
        for (const auto& [bug, cells] : rows)
            for (const auto& [column, cell] : cells) visit(column, cell);
    }

    std::vector<std::string> columns;
    std::map<std::pair<std::string, std::string>, std::map<std::string, Cell>> rows;
    std::size_t untold = 0;
};

// How many cells of a framework stand in which way; those whose runs differ in none.
struct Tally {
    std::map<std::string_view, int> words;
    int cells = 0, differ = 0;

    void add(const Cell& cell) {
        ++cells;
        if (cell.differ())
            ++differ;
        else
            ++words[table_word(cell.first().reaction).text];
    }
};

std::map<std::string, Tally> tallies_of(const Cells& cells) {
    std::map<std::string, Tally> tallies;
    cells.each([&](const std::string& column, const Cell& cell) { tallies[column].add(cell); });
    return tallies;
}

// "135 cells of 3 runs each"; "of 1 to 3 runs each" where some could not be told.
std::string size_text(const Cells& cells) {
    std::size_t count = 0, least = SIZE_MAX, most = 0;
    cells.each([&](const std::string&, const Cell& cell) {
        ++count;
        least = std::min(least, cell.runs.size());
        most = std::max(most, cell.runs.size());
    });
    if (count == 0) return "no cell";
    const std::string runs = least == most ? counted(most, "run") : fmt::format("{} to {} runs", least, most);
    return fmt::format("{} of {}{}", counted(count, "cell"), runs, count > 1 ? " each" : "");
}

// What the cells of this table need to be read.
std::string legend(const Cells& cells) {
    std::size_t differ = 0, after = 0, unchecked = 0;
    cells.each([&](const std::string&, const Cell& cell) {
        differ += cell.differ();
        after += cell.set_after();
        unchecked += cell.unchecked();
    });
    std::string text = size_text(cells) + ".";
    if (differ > 0) text += fmt::format(" In {} the runs differ: each reaction with its count.", differ);
    if (after > 0)
        text += fmt::format(
            "\n† ({}): that this is known was written down after a run was seen; all others were "
            "known before, or not at all.",
            counted(after, "cell"));
    if (unchecked > 0)
        text += fmt::format(
            "\n*not checked* ({}): a wrong result by a setting that differs per rank, which the "
            "framework's documentation does not promise to compare.",
            counted(unchecked, "cell"));
    return text;
}

std::string cell_text(const std::pair<std::string, std::string>& bug, const std::string& column,
                      const Cell& cell, int& number, std::string& notes) {
    const std::string words = cell.words();
    if (!cell.bad() && !cell.unchecked()) return fmt::format(" {} |", words);
    ++number;
    notes +=
        fmt::format("{}. <a id=\"b{}\"></a>**{}**, {}: {}: {}  \n   `{}`\n", number, number,
                    plain_cell(bug.second), plain_cell(column), words, plain_cell(cell.says()), cell.again());
    const std::string_view mark = cell.bad() ? "**" : "*";
    return fmt::format(" [{0}{1}{0}](#b{2}) |", mark, words, number);
}

std::string counts_text(const Cells& cells) {
    const std::map<std::string, Tally> tallies = tallies_of(cells);
    std::string text = "\n";
    for (const std::string& column : cells.columns) {
        text += fmt::format("- {}:", plain_cell(column));
        const char* between = " ";
        const auto add = [&](int count, std::string_view words) {
            if (count == 0) return;
            text += fmt::format("{}{} {}", between, count, words);
            between = " · ";
        };
        const Tally& tally = tallies.at(column);
        for (const TableWord& word : table_words) {
            const auto found = tally.words.find(word.text);
            add(found == tally.words.end() ? 0 : found->second, word.text);
        }
        add(tally.differ, "differ from run to run");
        text += "\n";
    }
    if (cells.untold > 0)
        text += fmt::format("- {} could not be told: not played here, or the fault never happened\n",
                            counted(cells.untold, "trial"));
    return text + "\n";
}

std::string rows_text(const Cells& cells) {
    std::string text = "| bug | cause |";
    for (const std::string& column : cells.columns) text += fmt::format(" {} |", plain_cell(column));
    text += "\n|---|---|";
    for (std::size_t i = 0; i < cells.columns.size(); ++i) text += "---|";
    text += "\n";
    std::string notes;
    int number = 0;
    for (const auto& [bug, row] : cells.rows) {
        text += fmt::format("| {} | {} |", plain_cell(bug.second), plain_cell(bug.first));
        for (const std::string& column : cells.columns) {
            const auto found = row.find(column);
            text += found == row.end() ? " |" : cell_text(bug, column, found->second, number, notes);
        }
        text += "\n";
    }
    return text + counts_text(cells) + notes;
}

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
    const Cells cells(standings);
    return fmt::format(
        "{}\n"
        "A good cell is plain. A bad one is bold and links to its error text and the command that "
        "reproduces it.\nA hang is a job without a step for more than {} times its time-out.\n\n{}\n\n{}",
        written_by, hang_multiple, legend(cells), rows_text(cells));
}

scenarios::Result<void> write_resilience_table(const std::vector<ResilienceCell>& standings,
                                               const std::filesystem::path& file) {
    return write_in_place(resilience_table(standings), table_place, file);
}

std::string resilience_summary(const std::vector<ResilienceCell>& standings) {
    const Cells cells(standings);
    const std::map<std::string, Tally> tallies = tallies_of(cells);
    std::string text = fmt::format("{}\n{} over {}, {}:\n\n| framework | bugs |", written_by,
                                   counted(cells.rows.size(), "bug"),
                                   counted(cells.columns.size(), "framework"), size_text(cells));
    for (const TableWord& word : table_words) text += fmt::format(" {} |", word.text);
    text += " runs differ |\n|---|---|";
    for (std::size_t i = 0; i <= table_words.size(); ++i) text += "---|";
    text += "\n";
    const auto shown = [](int count) { return count == 0 ? " |" : fmt::format(" {} |", count); };
    for (const std::string& framework : cells.columns) {
        const Tally& tally = tallies.at(framework);
        text += fmt::format("| {} | {} |", plain_cell(framework), tally.cells);
        for (const TableWord& word : table_words) {
            const auto found = tally.words.find(word.text);
            text += shown(found == tally.words.end() ? 0 : found->second);
        }
        text += shown(tally.differ) + "\n";
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
    return fmt::format("      {} · {}\n", style.paint(is_bad(grade.reaction) ? Ink::red : Ink::green, head),
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
    const auto page =
        std::filesystem::exists(file) ? scenarios::read_text(file) : scenarios::Result<std::string>("");
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
    text = visible_line(text);
    for (std::size_t at = 0; (at = text.find_first_of("|<>`*_", at)) != std::string::npos; at += 2)
        text.insert(at, "\\");
    return text;
}

}  // namespace deadrank::results::reports
