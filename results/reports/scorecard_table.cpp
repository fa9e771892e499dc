// results/reports/scorecard_table.cpp — A table of what became of the alarms; a column that would be all
// zeros is not printed.
#include <algorithm>
#include <fmt/format.h>

#include "results/reports/terminal.h"
#include "results/text/words.h"

namespace deadrank::results::reports {

namespace {

struct Column {
    std::string head;
    std::vector<std::string> cells;  // one for each row, the total last
    Ink ink = Ink::plain;
};

std::vector<const ScoreRow*> all_rows(const Scorecard& card) {
    std::vector<const ScoreRow*> rows;
    for (const ScoreRow& row : card.rows) rows.push_back(&row);
    rows.push_back(&card.total);
    return rows;
}

template <class Text>
Column column(const Scorecard& card, std::string head, Text text, Ink ink = Ink::plain) {
    Column result{std::move(head), {}, ink};
    for (const ScoreRow* row : all_rows(card)) result.cells.push_back(text(*row));
    return result;
}

Ink outcome_ink(Outcome outcome) {
    if (outcome == Outcome::caught || outcome == Outcome::as_unseen) return Ink::green;
    return outcome == Outcome::not_applied || outcome == Outcome::crashed ? Ink::yellow : Ink::red;
}

std::vector<Column> columns_for(const Scorecard& card) {
    std::vector<Column> columns;
    columns.push_back(column(card, "cases", [](const ScoreRow& row) { return std::to_string(row.cases); }));
    for (const auto& [outcome, count] : card.total.outcomes) {
        std::string head(name_of(outcome));
        std::replace(head.begin(), head.end(), '_', ' ');
        columns.push_back(column(
            card, head,
            [outcome = outcome](const ScoreRow& row) {
                const auto found = row.outcomes.find(outcome);
                return found == row.outcomes.end() ? std::string("·") : std::to_string(found->second);
            },
            outcome_ink(outcome)));
    }
    columns.push_back(
        column(card, "precision", [](const ScoreRow& row) { return share_text(row.precision()); }));
    columns.push_back(column(card, "recall", [](const ScoreRow& row) { return share_text(row.recall()); }));
    columns.push_back(
        column(card, "named", [](const ScoreRow& row) { return share_text(row.localisation()); }));
    columns.push_back(column(card, "median", [](const ScoreRow& row) {
        return row.delays.empty() ? std::string("—") : duration_text(row.median_delay());
    }));
    columns.push_back(column(card, "longest", [](const ScoreRow& row) {
        return row.delays.empty() ? std::string("—") : duration_text(row.longest_delay());
    }));
    return columns;
}

std::size_t widest(const Column& column) {
    std::size_t width = columns_of(column.head);
    for (const std::string& cell : column.cells) width = std::max(width, columns_of(cell));
    return width;
}

}  // namespace

std::string scorecard_table(const Scorecard& card, const std::string& title, const Style& style) {
    const std::vector<Column> columns = columns_for(card);
    const std::vector<const ScoreRow*> rows = all_rows(card);
    std::size_t names = columns_of(title);
    for (const ScoreRow* row : rows) names = std::max(names, columns_of(row->name));

    std::string head = "  " + pad_right(title, names), line = "  " + std::string(names, ' ');
    for (const Column& one : columns) head += "  " + pad_left(one.head, widest(one));
    std::string text = style.paint(Ink::dim, head) + "\n";
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const bool last = i + 1 == rows.size();
        line = "  " + style.paint(last ? Ink::bold : Ink::plain, pad_right(rows[i]->name, names));
        for (const Column& one : columns) {
            const bool empty = one.cells[i] == "·" || one.cells[i] == "—";
            line += "  " + style.paint(empty ? Ink::dim : one.ink, pad_left(one.cells[i], widest(one)));
        }
        text += line + "\n";
    }
    return text;
}

std::string last_line(const Scorecard& card, double seconds, const Style& style) {
    const auto of = [&](Verdict verdict) {
        const auto found = card.total.verdicts.find(verdict);
        return found == card.total.verdicts.end() ? std::size_t{0} : found->second;
    };
    const auto part = [&](Verdict verdict, Ink ink) {
        const std::size_t count = of(verdict);
        return style.paint(count > 0 ? ink : Ink::dim, fmt::format("{} {}", count, name_of(verdict)));
    };
    std::string text = fmt::format("  {} · {} · {}", part(Verdict::pass, Ink::green),
                                   part(Verdict::fail, Ink::red), part(Verdict::unknown, Ink::yellow));
    if (card.total.quiet_due > 0) {
        text += fmt::format(" · control and healed runs quiet {}/{}", card.total.quiet, card.total.quiet_due);
    }
    return text + style.paint(Ink::dim, fmt::format(" · {:.1f} s", seconds)) + "\n";
}

}  // namespace deadrank::results::reports
