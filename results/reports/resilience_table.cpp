// results/reports/resilience_table.cpp — Cells are responses and seconds; below, each bad one with its words
// and the command that shows it again.
#include "results/reports/resilience_table.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

#include "results/reports/json_parts.h"
#include "results/reports/text_file.h"
#include "results/words.h"

namespace deadrank::results::reports {

namespace {

constexpr std::string_view written_by = "<!-- Written by `deadrank run --table`; not by hand. -->";
constexpr std::string_view table_begins = "<!-- resilience table -->";
constexpr std::string_view table_ends = "<!-- end of the resilience table -->";

std::string column_of(const Standing& one) {
    return one.subject.version.empty() ? one.subject.framework
                                       : fmt::format("{} ({})", one.subject.framework, one.subject.version);
}

std::string row_of(const Standing& one) { return one.scenario.substr(one.scenario.find('/') + 1); }

// Text in a cell: nothing that Markdown would take for more.
std::string plain(std::string text) {
    for (std::size_t at = 0; (at = text.find_first_of("|<>`*_", at)) != std::string::npos; at += 2)
        text.insert(at, "\\");
    return text;
}

std::string seconds_of(const Resilience& stood) {
    if (stood.took == never) return "";
    const double seconds = static_cast<double>(stood.took.count()) / 1e9;
    return fmt::format(" {}{:.0f} s", stood.response == Response::hang ? "≥ " : "", seconds);
}

class Table {
public:
    void add(const Standing& one) {
        if (one.subject.name.empty()) return;
        if (!one.stood) {
            ++untold_;
            return;
        }
        const std::string column = column_of(one);
        if (std::find(columns_.begin(), columns_.end(), column) == columns_.end()) columns_.push_back(column);
        auto& cell = cells_[{one.cause, row_of(one)}][column];
        if (!cell || (is_good(cell->stood->response) && !is_good(one.stood->response))) cell = &one;
        ++counts_[{column, one.stood->response}];
    }

    std::string text() const {
        std::string text = "| bug | cause |";
        for (const std::string& column : columns_) text += fmt::format(" {} |", plain(column));
        text += "\n|---|---|";
        for (std::size_t i = 0; i < columns_.size(); ++i) text += "---|";
        text += "\n";
        std::string notes;
        int number = 0;
        for (const auto& [key, cells] : cells_) {
            text += fmt::format("| {} | {} |", plain(key.second), plain(key.first));
            for (const std::string& column : columns_) {
                const auto found = cells.find(column);
                text += found == cells.end() ? " |" : cell_text(*found->second, number, notes);
            }
            text += "\n";
        }
        return text + summary() + notes;
    }

private:
    static std::string cell_text(const Standing& one, int& number, std::string& notes) {
        const Resilience& stood = *one.stood;
        const std::string words = fmt::format("{}{}", text_of(stood.response), seconds_of(stood));
        if (is_good(stood.response)) return fmt::format(" {} |", words);
        ++number;
        notes += fmt::format("{}. <a id=\"b{}\"></a>**{}**, {}: {}: {}  \n   `{}`\n", number, number,
                             plain(row_of(one)), plain(column_of(one)), words, plain(stood.says), one.again);
        return fmt::format(" [**{}**](#b{}) |", words, number);
    }

    std::string summary() const {
        std::string text = "\n";
        for (const std::string& column : columns_) {
            text += fmt::format("- {}:", plain(column));
            const char* between = " ";
            for (int i = 0; i <= static_cast<int>(Response::unaffected); ++i) {
                const auto found = counts_.find({column, static_cast<Response>(i)});
                if (found == counts_.end()) continue;
                text += fmt::format("{}{} {}", between, found->second, text_of(found->first.second));
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
    std::map<std::pair<std::string, std::string>, std::map<std::string, const Standing*>> cells_;
    std::map<std::pair<std::string, Response>, int> counts_;
    std::size_t untold_ = 0;
};

}  // namespace

std::string between_table_marks(std::string page, std::string_view table) {
    const std::size_t begin = page.find(table_begins), end = page.find(table_ends);
    if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
    const std::size_t from = begin + table_begins.size();
    return page.replace(from, end - from, fmt::format("\n{}", table));
}

std::string resilience_table(const std::vector<Standing>& standings) {
    Table table;
    for (const Standing& one : standings) table.add(one);
    return fmt::format(
        "{}\n"
        "A good cell is plain. A bad one is bold and leads to its words and to the command that shows it "
        "again.\nA hang is a job without a step for more than {} times its time-out.\n\n{}",
        written_by, hang_multiple, table.text());
}

scenarios::Result<void> write_resilience_table(const std::vector<Standing>& standings,
                                               const std::filesystem::path& file) {
    const std::string table = resilience_table(standings);
    const auto page = std::filesystem::exists(file) ? read_text(file) : scenarios::Result<std::string>("");
    if (!page) return tl::unexpected(page.error());
    if (page->empty() || page->starts_with(written_by)) return write_text(table, file);
    const std::string with_table = between_table_marks(*page, table);
    if (!with_table.empty()) return write_text(with_table, file);
    return scenarios::refuse(
        scenarios::ErrorCode::usage,
        fmt::format("'{}' is a page of yours and has no place for the table", file.string()),
        fmt::format("add the lines {} and {}, or name another file", table_begins, table_ends));
}

std::string standing_line(const Standing& standing, const Style& style) {
    if (!standing.stood) return {};
    const Resilience& stood = *standing.stood;
    const std::string took = stood.took == never ? "" : ", " + duration_text(stood.took);
    const std::string words = fmt::format("{}: {}", column_of(standing), one_line(stood.says));
    const std::string head = fmt::format("{}{}", text_of(stood.response), took);
    const std::size_t used = 6 + columns_of(head) + 3;
    const std::size_t room = style.width > used + 20 ? style.width - used : 0;
    return fmt::format("      {} · {}\n", style.paint(is_good(stood.response) ? Ink::green : Ink::red, head),
                       style.paint(Ink::dim, style.cut(words, room)));
}

std::string with_standing(const std::string& json_line, const Standing& standing) {
    Json json = Json::parse(json_line);
    json["subject"] = {{"name", standing.subject.name},
                       {"framework", standing.subject.framework},
                       {"version", standing.subject.version}};
    json["stood"] = nullptr;
    if (standing.stood) {
        const Time took = standing.stood->took;
        json["stood"] = {{"response", name_of(standing.stood->response)},
                         {"took", took == never ? Json(nullptr) : Json(took.count())},
                         {"says", standing.stood->says}};
    }
    return dumped(json);
}

}  // namespace deadrank::results::reports
