// results/alerts/report_text.cpp — First the answer, then the table, then what to do about it.
#include <algorithm>
#include <fmt/format.h>

#include "results/alerts/matrix.h"
#include "results/alerts/report.h"
#include "results/text/toml_tree.h"

namespace deadrank::results::alerts {

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
        text += paragraph(fmt::format("{}:{}: {}", trouble.file, trouble.line, trouble.words), 2);
    }
    return text;
}

std::string missed(const Study& study, const Style& style) {
    std::string text;
    for (const Row& row : study.rows) {
        const std::string outcome = outcome_of(row);
        if (outcome == "caught" || !row.trouble.empty()) continue;
        text += fmt::format("  {} — {}\n", row.incident.id, outcome);
        if (!row.suggestion) continue;
        const Tried& tried = *row.suggestion;
        if (!tried.available) {
            text += paragraph("what would show it does not exist under this profile: " + tried.expr, 6);
            continue;
        }
        text += paragraph(tried.says + ":", 6);
        text += "      " + style.paint(Ink::cyan, fmt::format("expr: {}", tried.expr)) + "\n";
        if (!tried.hold.empty()) text += "      " + style.paint(Ink::cyan, "for: " + tried.hold) + "\n";
        text += paragraph(!tried.fired
                              ? "tried: it did not fire"
                              : fmt::format("tried: it fires after {}{}", duration_text(tried.latency_low),
                                            tried.quiet_when_healthy ? " and is silent on the healthy run"
                                                                     : ", but also on the healthy run"),
                          6);
    }
    return text.empty() ? text : heading(style, "not caught in time") + text;
}

std::string rule_list(const Study& study, AlertVerdict verdict, const std::string& title,
                      const Style& style) {
    std::string text;
    for (std::size_t i = 0; i < study.healthy.size(); ++i) {
        if (study.healthy[i].verdict != verdict) continue;
        text += paragraph(fmt::format("{} ({}:{}) {}", study.rules[i].name, study.rules[i].file,
                                      study.rules[i].line, study.healthy[i].says),
                          2);
    }
    return text.empty() ? text : heading(style, title) + text;
}

std::string dead_alerts(const Study& study, const Style& style) {
    std::string text;
    for (std::size_t i = 0; i < study.rules.size(); ++i) {
        const Rule& rule = study.rules[i];
        if (!rule.is_alert || !study.analysis.rules[i].dead) continue;
        text += paragraph(
            fmt::format("{} ({}:{}): {}", rule.name, rule.file, rule.line, study.analysis.rules[i].why_dead),
            2);
    }
    return text.empty() ? text : heading(style, "dead: these can never fire under this profile") + text;
}

std::string findings(const Study& study, const Style& style) {
    if (study.analysis.findings.empty()) return {};
    std::string text = heading(style, "wrong with the rules themselves");
    for (const StaticFinding& one : study.analysis.findings) {
        if (one.kills) continue;  // said among the dead
        const Ink ink = one.weight == Weight::error     ? Ink::red
                        : one.weight == Weight::warning ? Ink::yellow
                                                        : Ink::dim;
        text += "  " + style.paint(ink, one.id) + fmt::format(" {}:{} {}\n", one.file, one.line, one.alert);
        text += paragraph(one.says + (one.remedy.empty() ? "" : ": " + one.remedy), 6);
    }
    return text;
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
            if (!study.rules[i].is_alert || row.cells[i].verdict == AlertVerdict::unconcerned) continue;
            std::string says = fmt::format("{}: {}. It {}.", study.rules[i].name,
                                           name_of(row.cells[i].verdict), row.cells[i].says);
            if (!row.cells[i].paged.empty())
                says += fmt::format(" Paged: {}.", fmt::join(row.cells[i].paged, ", "));
            text += paragraph(says, 4);
        }
    }
    return text;
}

std::string last_word(const Study& study, const Policy& policy, const std::vector<Breach>& found,
                      const Style& style) {
    const auto caught = std::count_if(study.rows.begin(), study.rows.end(),
                                      [](const Row& row) { return outcome_of(row) == "caught"; });
    std::string text = "\n";
    for (const Breach& breach : found) {
        text +=
            style.paint(Ink::red, "breach ") +
            fmt::format("{}{}{}: {}\n", breach.fault, breach.fault.empty() || breach.alert.empty() ? "" : " ",
                        breach.alert, breach.says);
    }
    text += style.paint(found.empty() ? Ink::green : Ink::red,
                        fmt::format("{} of {} failures caught in time; {}", caught, study.rows.size(),
                                    !found.empty() ? fmt::format("{} breaches{}", found.size(),
                                                                 policy.given ? " of " + policy.file : "")
                                    : policy.given ? policy.file + " is kept"
                                                   : "no policy given"));
    return text + "\n";
}

}  // namespace

std::string outcome_of(const Row& row) {
    if (!row.trouble.empty()) return "unknown";
    if (row.best < 0) return "missed";
    const Cell& best = row.cells[static_cast<std::size_t>(row.best)];
    return best.in_time(row.incident.within) ? "caught" : "caught late";
}

std::string text_report(const Study& study, const Policy& policy, const std::vector<Breach>& found,
                        const Style& style, bool explain) {
    std::string text = report_head(study, style) + matrix(study, style) + invalid_files(study, style);
    text +=
        rule_list(study, AlertVerdict::false_alarm, "false alarms: these fire on a healthy cluster", style);
    text += rule_list(study, AlertVerdict::background, "background: always on, ignored above", style);
    text += dead_alerts(study, style) + missed(study, style) + findings(study, style);
    if (explain) text += explained(study, style);
    for (const std::string& note : study.notes) text += "\n" + paragraph("note: " + note, 0);
    return text + last_word(study, policy, found, style);
}

}  // namespace deadrank::results::alerts
