// results/alerts/matrix.cpp — Columns are letters with a legend below, seven to a block: 22 + 7 × 8 = 78
// columns.
#include "results/alerts/matrix.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

#include "results/alerts/report.h"
#include "results/text/toml_tree.h"

namespace deadrank::results::alerts {

namespace {

using reports::Ink;
using reports::Style;

constexpr std::size_t name_width = 22, cell_width = 8, columns_in_block = 7;

Ink ink_of(AlertVerdict verdict) {
    switch (verdict) {
        case AlertVerdict::caught:
            return Ink::green;
        case AlertVerdict::late:
        case AlertVerdict::sticky:
        case AlertVerdict::pending_only:
            return Ink::yellow;
        case AlertVerdict::missed:
        case AlertVerdict::wrong_place:
        case AlertVerdict::dead:
        case AlertVerdict::invalid:
        case AlertVerdict::false_alarm:
            return Ink::red;
        default:
            return Ink::dim;
    }
}

std::string letter(std::size_t number) {
    std::string text(1, static_cast<char>('A' + number % 26));
    return number < 26 ? text : letter(number / 26 - 1) + text;
}

// Alerts that said something in any row, or should have; those with nothing to say are counted instead.
std::vector<std::size_t> columns_of(const Study& study) {
    std::vector<std::size_t> columns;
    for (std::size_t i = 0; i < study.rules.size(); ++i) {
        if (!study.rules[i].is_alert) continue;
        const bool speaks = std::any_of(study.rows.begin(), study.rows.end(), [&](const Row& row) {
            return i < row.cells.size() && row.cells[i].verdict != AlertVerdict::unconcerned &&
                   row.cells[i].verdict != AlertVerdict::background &&
                   row.cells[i].verdict != AlertVerdict::dead;
        });
        if (speaks) columns.push_back(i);
    }
    return columns;
}

// A scenario by its own name: the stage before it is the same for a whole block of them.
std::string short_name(const std::string& id) { return id.substr(id.rfind('/') + 1); }

std::string row_text(const Row& row, const std::vector<std::size_t>& columns, const Style& style) {
    std::string text = reports::pad_right(style.cut(short_name(row.incident.id), name_width - 1), name_width);
    if (!row.trouble.empty())
        return text + style.paint(Ink::dim, style.cut("not judged: " + row.trouble, 56));
    for (const std::size_t column : columns) {
        const Cell& cell = row.cells[column];
        text += style.paint(ink_of(cell.verdict), reports::pad_right(cell_code(cell), cell_width));
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text;
}

std::string block(const Study& study, const std::vector<std::size_t>& columns, std::size_t first,
                  const Style& style) {
    std::string text(name_width, ' ');
    for (std::size_t i = 0; i < columns.size(); ++i)
        text += reports::pad_right(letter(first + i), cell_width);
    while (text.ends_with(' ')) text.pop_back();
    text = style.paint(Ink::bold, text) + "\n";
    for (const Row& row : study.rows) text += row_text(row, columns, style) + "\n";
    text += '\n';
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const Rule& rule = study.rules[columns[i]];
        const std::string hold = rule.hold > 0 ? "  for " + exporters::duration_text(rule.hold) : "";
        text += style.cut(fmt::format("  {:<3}{}  {}:{}{}", letter(first + i), rule.name,
                                      std::filesystem::path(rule.file).filename().string(), rule.line, hold),
                          79) +
                "\n";
    }
    return text;
}

std::string legend(const Study& study, const std::vector<std::size_t>& columns, const Style& style) {
    struct Entry {
        AlertVerdict verdict;
        const char* says;
    };
    constexpr Entry entries[] = {
        {AlertVerdict::caught, "+m:ss  caught, that long after the failure; ? = does not lead to the place"},
        {AlertVerdict::late, "+m:ss! late: later than the objective"},
        {AlertVerdict::sticky, "+m:ss~ caught, and still firing long after the repair"},
        {AlertVerdict::wrong_place, "wrong  fired, and names only places that are well"},
        {AlertVerdict::pending_only, "p+m:ss pending only: needed that much longer"},
        {AlertVerdict::missed, "miss   reads what the failure moves, and stayed silent"},
        {AlertVerdict::false_alarm, "false  fires on a healthy cluster now and then"},
        {AlertVerdict::background, "backg  fires on a healthy cluster all the time"},
        {AlertVerdict::dead, "dead   can never fire here"},
        {AlertVerdict::unjudged, "n/j    Prometheus could not evaluate it at this size"},
        {AlertVerdict::unconcerned, "·      reads nothing that the failure moves"},
    };
    std::string text;
    for (const Entry& entry : entries) {
        const bool used = std::any_of(study.rows.begin(), study.rows.end(), [&](const Row& row) {
            return std::any_of(columns.begin(), columns.end(), [&](std::size_t column) {
                return column < row.cells.size() && row.cells[column].verdict == entry.verdict;
            });
        });
        if (used) text += style.paint(Ink::dim, style.cut(std::string("  ") + entry.says, 79)) + "\n";
    }
    return text;
}

}  // namespace

std::string cell_code(const Cell& cell) {
    const auto clock = [](double seconds) {
        const int whole = static_cast<int>(seconds);
        return whole >= 3600 ? fmt::format("{}h{:02}", whole / 3600, whole / 60 % 60)
                             : fmt::format("{}:{:02}", whole / 60, whole % 60);
    };
    switch (cell.verdict) {
        case AlertVerdict::caught:
            return "+" + clock(cell.latency_low) + (cell.place == Place::exact ? "" : "?");
        case AlertVerdict::late:
            return "+" + clock(cell.latency_low) + "!";
        case AlertVerdict::sticky:
            return "+" + clock(cell.latency_low) + "~";
        case AlertVerdict::wrong_place:
            return "wrong";
        case AlertVerdict::pending_only:
            return "p+" + clock(cell.needed);
        case AlertVerdict::missed:
            return "miss";
        case AlertVerdict::unconcerned:
            return "·";
        case AlertVerdict::false_alarm:
            return "false";
        case AlertVerdict::background:
            return "backg";
        case AlertVerdict::dead:
            return "dead";
        case AlertVerdict::invalid:
            return "inval";
        case AlertVerdict::unjudged:
            return "n/j";
    }
    return "?";
}

std::string matrix(const Study& study, const Style& style) {
    const auto columns = columns_of(study);
    if (study.rows.empty()) return {};
    std::string text;
    for (std::size_t first = 0; first < std::max<std::size_t>(columns.size(), 1); first += columns_in_block) {
        const std::size_t end = std::min(first + columns_in_block, columns.size());
        text += block(study,
                      {columns.begin() + static_cast<std::ptrdiff_t>(first),
                       columns.begin() + static_cast<std::ptrdiff_t>(end)},
                      first, style) +
                "\n";
    }
    return text + legend(study, columns, style);
}

}  // namespace deadrank::results::alerts
