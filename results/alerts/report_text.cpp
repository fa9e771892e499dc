// results/alerts/report_text.cpp — A study for people: the lines and the matrix of rules and failures.
#include "results/alerts/report_text.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <tuple>

#include "results/alerts/report.h"
#include "results/exporters/toml_file.h"

namespace deadrank::results::alerts {

// ── First the answer, then the table, then what to do about it.

namespace {

using exporters::duration_text;
using reports::Ink;
using reports::Style;

std::string paragraph(const std::string& text, std::size_t indent) {
    std::string out;
    for (const std::string& line : reports::wrap(text, 79 - indent))
        out += std::string(indent, ' ') + line + "\n";
    return out;
}

std::string heading(const Style& style, const std::string& text) {
    return "\n" + style.paint(Ink::bold, text) + "\n";
}

// As many entries as fit a screen beside the others.
std::string list_of(const std::vector<std::string>& entries, bool all) {
    constexpr std::size_t most = 8;
    std::string text;
    for (std::size_t i = 0; i < entries.size() && (all || entries.size() <= most + 2 || i < most); ++i)
        text += entries[i];
    if (!all && entries.size() > most + 2)
        text += fmt::format("  … and {} more (--all shows them)\n", entries.size() - most);
    return text;
}

std::string report_head(const Study& study, const Style& style) {
    const auto alerts =
        std::count_if(study.rules.begin(), study.rules.end(), [](const Rule& rule) { return rule.is_alert; });
    std::string text =
        style.paint(Ink::bold, fmt::format("{} alerts against {} failures", alerts, study.rows.size())) +
        "\n";
    const auto& window = study.world.window;
    text += fmt::format("  {}x{} GPUs · {} · judged by {}\n", study.world.cluster.nodes,
                        study.world.cluster.gpus_per_node, study.world.profile.name,
                        study.judge.empty() ? "nobody" : study.judge);
    text += fmt::format("  scrape {} · evaluation {} · failure at {} of {}\n\n", duration_text(window.scrape),
                        duration_text(window.eval), duration_text(window.fault_at),
                        duration_text(window.duration));
    return text;
}

std::string invalid_files(const Study& study, const Style& style) {
    if (study.invalid.empty()) return {};
    std::string text = heading(style, "invalid: Prometheus refuses these");
    for (const auto& trouble : study.invalid) {
        text += paragraph(fmt::format("{}: {}", trouble.place(), trouble.words), 2);
    }
    return text;
}

// Pages for each failure, as Alertmanager sends them, and what it suppresses.
std::string pages_of(const Study& study, const Style& style, bool all) {
    std::vector<std::string> entries;
    for (const Row& row : study.rows) {
        const bool rang =
            std::any_of(row.cells.begin(), row.cells.end(), [](const Cell& cell) { return cell.noticed(); });
        if (row.pages < 0 || (row.pages == 0 && !rang)) continue;
        std::set<std::string> receivers;
        std::vector<std::string> suppressed;
        for (std::size_t i = 0; i < row.cells.size(); ++i) {
            const Cell& cell = row.cells[i];
            receivers.insert(cell.paged.begin(), cell.paged.end());
            if (!cell.suppressed_by.empty() && cell.paged.empty())
                suppressed.push_back(
                    fmt::format("{} by {}", study.rules[i].name, fmt::join(cell.suppressed_by, ", ")));
        }
        entries.push_back(paragraph(
            fmt::format(
                "{}: {} {}{}{}{}", row.incident.id, row.pages, row.pages == 1 ? "page" : "pages",
                receivers.empty() ? "" : fmt::format(" to {}", fmt::join(receivers, ", ")),
                suppressed.empty() ? "" : "; suppressed: ", fmt::format("{}", fmt::join(suppressed, ", "))),
            2));
    }
    return entries.empty() ? "" : heading(style, "pages, by Alertmanager") + list_of(entries, all);
}

bool is_miss(const Study& study, const Row& row, std::size_t rule) {
    const AlertVerdict verdict = row.cells[rule].verdict;
    return study.rules[rule].is_alert &&
           (verdict == AlertVerdict::pending_only || verdict == AlertVerdict::missed);
}

// The misses of a failure that nothing caught in time: two stand beside its suggestion, the others below.
constexpr std::size_t misses_beside = 2;

// The alerts that came nearest, then what would have rung.
std::string missed_entry(const Study& study, const Row& row, const Style& style) {
    std::string text = fmt::format("  {} — {}\n", row.incident.id, scenarios::enum_name(outcome_of(row)));
    std::size_t told = 0;
    for (std::size_t i = 0; i < row.cells.size() && told < misses_beside; ++i) {
        if (!is_miss(study, row, i)) continue;
        text += paragraph(study.rules[i].name + " " + row.cells[i].says, 6);
        ++told;
    }
    if (!row.suggestion) return text;
    const Tried& tried = *row.suggestion;
    if (!tried.available) return text + paragraph("nothing here can show it: " + tried.why, 6);
    if (!tried.fired || !tried.quiet_when_healthy) return text;
    text += "      " + style.paint(Ink::cyan, fmt::format("expr: {}", tried.expr)) + "\n";
    if (!tried.hold.empty()) text += "      " + style.paint(Ink::cyan, "for: " + tried.hold) + "\n";
    return text + paragraph(fmt::format("tried: fires after {}, silent on the healthy run; {}",
                                        duration_text(tried.latency_low), tried.says),
                            6);
}

std::string missed(const Study& study, const Style& style, bool all) {
    std::vector<std::string> entries;
    for (const Row& row : study.rows) {
        if (outcome_of(row) != RowOutcome::caught && row.trouble.empty())
            entries.push_back(missed_entry(study, row, style));
    }
    return entries.empty() ? "" : heading(style, "not caught in time") + list_of(entries, all);
}

// All other misses with how near each came. The first of each alert comes before the second of any, so that
// a screen shows as many alerts as fit.
std::string single_misses(const Study& study, const Style& style, bool all) {
    std::map<std::pair<std::size_t, std::size_t>, std::string> by_turn;  // and rule
    std::map<std::size_t, std::size_t> turns;
    for (const Row& row : study.rows) {
        std::size_t beside = row.trouble.empty() && outcome_of(row) != RowOutcome::caught ? misses_beside : 0;
        for (std::size_t i = 0; i < row.cells.size(); ++i) {
            if (!is_miss(study, row, i)) continue;
            if (beside > 0) {
                --beside;
                continue;
            }
            by_turn[{turns[i]++, i}] = paragraph(
                fmt::format("{} under {}: {}", study.rules[i].name, row.incident.id, row.cells[i].says), 2);
        }
    }
    std::vector<std::string> entries;
    for (const auto& [turn, entry] : by_turn) entries.push_back(entry);
    return entries.empty() ? ""
                           : heading(style, "other misses, and how near each came") + list_of(entries, all);
}

std::string rule_list(const Study& study, AlertVerdict verdict, const std::string& title, const Style& style,
                      bool all) {
    std::vector<std::string> entries;
    for (std::size_t i = 0; i < study.healthy.size(); ++i) {
        if (study.healthy[i].verdict != verdict) continue;
        entries.push_back(paragraph(fmt::format("{} ({}:{}) {}", study.rules[i].name, study.rules[i].file,
                                                study.rules[i].line, study.healthy[i].says),
                                    2));
    }
    return entries.empty() ? "" : heading(style, title) + list_of(entries, all);
}

// Under three headings: what the rules are to blame for, what the site can say, what is not simulated.
std::string silent_alerts(const Study& study, const Style& style, bool all) {
    constexpr std::pair<Silence, const char*> headings[] = {
        {Silence::never, "can never fire"},
        {Silence::your_names, "depends on your names: a name map (--map) says them"},
        {Silence::not_simulated, "not simulated here"}};
    std::string text;
    for (const auto& [silence, title] : headings) {
        std::vector<std::string> entries;
        for (std::size_t i = 0; i < study.rules.size(); ++i) {
            const Rule& rule = study.rules[i];
            const RuleReads& reads = study.analysis.rules[i];
            if (!rule.is_alert || silence_of(reads.dead_kind) != silence) continue;
            entries.push_back(
                paragraph(fmt::format("{} ({}:{}): {}{}{}", rule.name, rule.file, rule.line, reads.why_dead,
                                      reads.remedy.empty() ? "" : "; ", reads.remedy),
                          2));
        }
        if (!entries.empty()) text += heading(style, title) + list_of(entries, all);
    }
    return text;
}

// Each alert that Prometheus refused once, with its words.
std::string not_judged(const Study& study, const Style& style, bool all) {
    std::vector<std::string> entries;
    for (std::size_t i = 0; i < study.rules.size(); ++i) {
        std::map<std::string, std::size_t> reasons;
        for (const Row& row : study.rows) {
            if (i < row.cells.size() && row.cells[i].verdict == AlertVerdict::unjudged)
                ++reasons[row.cells[i].says];
        }
        if (!study.rules[i].is_alert) continue;
        for (const auto& [words, count] : reasons)
            entries.push_back(paragraph(fmt::format("{} ({}:{}), under {} failures: {}", study.rules[i].name,
                                                    study.rules[i].file, study.rules[i].line, count, words),
                                        2));
    }
    return entries.empty() ? "" : heading(style, "not judged") + list_of(entries, all);
}

std::string findings(const Study& study, const Style& style, bool all) {
    std::vector<std::string> entries;
    for (const StaticFinding& one : study.analysis.findings) {
        if (one.kills) continue;  // listed with the alerts that cannot fire
        const Ink ink = one.weight == Weight::error     ? Ink::red
                        : one.weight == Weight::warning ? Ink::yellow
                                                        : Ink::dim;
        entries.push_back("  " + style.paint(ink, one.id) +
                          fmt::format(" {}:{} {}\n", one.file, one.line, one.alert) +
                          paragraph(one.says + (one.remedy.empty() ? "" : ": " + one.remedy), 6));
    }
    return entries.empty() ? "" : heading(style, "wrong with the rules themselves") + list_of(entries, all);
}

// An alert without a column and without another place in the report.
bool is_untouched(const Study& study, std::size_t rule) {
    const auto judged = [&](const Row& row) { return rule < row.cells.size(); };
    const auto idle = [&](const Row& row) {
        return !judged(row) || row.cells[rule].verdict == AlertVerdict::unconcerned;
    };
    return study.rules[rule].is_alert && std::any_of(study.rows.begin(), study.rows.end(), judged) &&
           std::all_of(study.rows.begin(), study.rows.end(), idle);
}

std::string untouched(const Study& study, const Style& style) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < study.rules.size(); ++i)
        if (is_untouched(study, i)) names.push_back(study.rules[i].name);
    if (names.empty()) return "";
    return heading(style, "concerned by none of these failures") +
           paragraph(fmt::format("{}. What they read does not move here, or only ends: --explain says which.",
                                 fmt::join(names, ", ")),
                     2);
}

std::string explained(const Study& study, const Style& style) {
    std::string text = heading(style, "each cell");
    for (const Row& row : study.rows) {
        if (!row.trouble.empty()) {
            text += paragraph(row.incident.id + ": " + row.trouble, 2);
            continue;
        }
        text += "  " + row.incident.id + " — " + row.incident.title + "\n";
        for (std::size_t i = 0; i < row.cells.size(); ++i) {
            if (!study.rules[i].is_alert || row.cells[i].says.empty()) continue;
            if (row.cells[i].verdict == AlertVerdict::unconcerned && !is_untouched(study, i)) continue;
            std::string says = fmt::format("{}: {}: {}.", study.rules[i].name,
                                           name_of(row.cells[i].verdict), row.cells[i].says);
            const auto& [paged, by] = std::tie(row.cells[i].paged, row.cells[i].suppressed_by);
            if (row.pages >= 0 && row.cells[i].noticed())
                says +=
                    paged.empty() ? " Paged: nobody." : fmt::format(" Paged: {}.", fmt::join(paged, ", "));
            if (!by.empty())
                says += fmt::format(" Suppressed{} by {}.", paged.empty() ? "" : " for a time",
                                    fmt::join(by, ", "));
            text += paragraph(says, 4);
        }
    }
    return text;
}

// "of 53 alerts 41 can fire here; 3 can never fire, 4 depend on your names, 5 are not simulated"
std::string shares(const Study& study) {
    std::size_t alerts = 0, unjudged = 0;
    std::map<Silence, std::size_t> counts;
    for (std::size_t i = 0; i < study.rules.size(); ++i) {
        if (!study.rules[i].is_alert) continue;
        ++alerts;
        const Silence silence = silence_of(study.analysis.rules[i].dead_kind);
        if (silence == Silence::none && study.healthy_played.why_unjudged.contains(i))
            ++unjudged;
        else
            ++counts[silence];
    }
    if (counts[Silence::none] == alerts) return {};
    return fmt::format(
        "of {} alerts {} can fire here; {} can never fire, {} depend on your names, {} are not "
        "simulated{}\n",
        alerts, counts[Silence::none], counts[Silence::never], counts[Silence::your_names],
        counts[Silence::not_simulated], unjudged == 0 ? "" : fmt::format(", {} were not judged", unjudged));
}

std::string format_summary(const Study& study, const Policy& policy, const std::vector<Breach>& found,
                           const Style& style) {
    const auto caught = std::count_if(study.rows.begin(), study.rows.end(),
                                      [](const Row& row) { return outcome_of(row) == RowOutcome::caught; });
    std::string text = "\n" + shares(study);
    for (const Breach& breach : found) {
        const bool invalid = std::any_of(study.invalid.begin(), study.invalid.end(),
                                         [&](const auto& one) { return one.words == breach.says; });
        text +=
            style.paint(Ink::red, "breach ") +
            fmt::format("{}{}{}: {}\n", breach.fault, breach.fault.empty() || breach.alert.empty() ? "" : " ",
                        breach.alert, invalid ? "Prometheus refuses it, see above" : breach.says);
    }
    text += style.paint(
        found.empty() ? Ink::green : Ink::red,
        fmt::format("{}; {}", caught_text(study, static_cast<std::size_t>(caught)),
                    !found.empty() ? fmt::format("{} breach{}{}", found.size(), found.size() == 1 ? "" : "es",
                                                 policy.given ? " of " + policy.file : "")
                    : policy.given ? policy.file + " is kept"
                                   : "no policy given"));
    return text + "\n";
}

}  // namespace

RowOutcome outcome_of(const Row& row) {
    if (!row.trouble.empty()) return RowOutcome::unknown;
    if (row.best < 0) return RowOutcome::missed;
    const Cell& best = row.cells[static_cast<std::size_t>(row.best)];
    return best.in_time(row.incident.within) ? RowOutcome::caught : RowOutcome::caught_late;
}

std::string caught_text(const Study& study, std::size_t caught) {
    const std::size_t open = study.unjudged_rows();
    return fmt::format("{} of {} failures caught in time{}", caught, study.rows.size(),
                       open == 0 ? "" : fmt::format(", {} not judged", open));
}

std::string text_report(const Study& study, const Policy& policy, const std::vector<Breach>& found,
                        const Style& style, const TextOptions& options) {
    const bool all = options.all;
    std::string text = report_head(study, style) + matrix(study, style) + invalid_files(study, style);
    text += rule_list(study, AlertVerdict::false_alarm, "false alarms: these fire on a healthy cluster",
                      style, all);
    text += rule_list(study, AlertVerdict::background, "background: always on, ignored above", style, all);
    text += pages_of(study, style, all);
    text += not_judged(study, style, all) + silent_alerts(study, style, all) + missed(study, style, all);
    text += single_misses(study, style, all);
    text += untouched(study, style);
    text += findings(study, style, all);
    if (options.explain) text += explained(study, style);
    for (const std::string& note : study.notes) text += "\n" + paragraph("note: " + note, 0);
    return text + format_summary(study, policy, found, style);
}

// ── Columns are letters with a legend below, seven to a block: 22 + 7 × 8 = 78 columns.

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
        case AlertVerdict::after_repair:
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

// Alerts that noticed something in any row, or should have; the others are only counted.
std::vector<std::size_t> columns_of(const Study& study) {
    std::vector<std::size_t> columns;
    for (std::size_t i = 0; i < study.rules.size(); ++i) {
        if (!study.rules[i].is_alert) continue;
        const bool speaks = std::any_of(study.rows.begin(), study.rows.end(), [&](const Row& row) {
            return i < row.cells.size() && row.cells[i].verdict != AlertVerdict::unconcerned &&
                   row.cells[i].verdict != AlertVerdict::background &&
                   row.cells[i].verdict != AlertVerdict::dead &&
                   row.cells[i].verdict != AlertVerdict::your_names &&
                   row.cells[i].verdict != AlertVerdict::not_simulated;
        });
        if (speaks) columns.push_back(i);
    }
    return columns;
}

// A scenario's own name: the stage before it is the same for a whole block.
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

// Of a study whose alerts have no column: one sentence, and the failures that could not be judged.
std::string without_cells(const Study& study, const Style& style) {
    std::string text;
    for (const Row& row : study.rows) {
        if (!row.trouble.empty()) text += row_text(row, {}, style) + "\n";
    }
    const bool judged =
        std::any_of(study.rows.begin(), study.rows.end(), [](const Row& row) { return row.trouble.empty(); });
    return judged ? text + "no alert fires or misses anything under these failures\n" : text;
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
        {AlertVerdict::wrong_place, "wrong  fired, and names only healthy places"},
        {AlertVerdict::pending_only, "p+m:ss pending only: needed that much longer"},
        {AlertVerdict::after_repair, "after  first rang when the repair was done"},
        {AlertVerdict::missed, "miss   reads what the failure moves, and stayed silent"},
        {AlertVerdict::false_alarm, "false  fires on a healthy cluster now and then"},
        {AlertVerdict::background, "backg  fires on a healthy cluster all the time"},
        {AlertVerdict::dead, "never  can never fire"},
        {AlertVerdict::your_names, "names  depends on your names: see below"},
        {AlertVerdict::not_simulated, "n/sim  reads what is not simulated here: see below"},
        {AlertVerdict::unjudged, "n/j    not judged: the reason is below"},
        {AlertVerdict::unconcerned, "·      the failure moves nothing that it reads, or only ends it"},
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
            return "+" + clock(cell.latency_low) + (cell.place == Locality::exact ? "" : "?");
        case AlertVerdict::late:
            return "+" + clock(cell.latency_low) + "!";
        case AlertVerdict::sticky:
            return "+" + clock(cell.latency_low) + "~";
        case AlertVerdict::wrong_place:
            return "wrong";
        case AlertVerdict::pending_only:
            return "p+" + clock(cell.needed);
        case AlertVerdict::after_repair:
            return "after";
        case AlertVerdict::missed:
            return "miss";
        case AlertVerdict::unconcerned:
            return "·";
        case AlertVerdict::false_alarm:
            return "false";
        case AlertVerdict::background:
            return "backg";
        case AlertVerdict::dead:
            return "never";
        case AlertVerdict::your_names:
            return "names";
        case AlertVerdict::not_simulated:
            return "n/sim";
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
    if (columns.empty()) return without_cells(study, style);
    std::string text;
    for (std::size_t first = 0; first < columns.size(); first += columns_in_block) {
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
