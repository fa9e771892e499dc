// runners/commands/judge/score_report.cpp — Each table is headed by the tool and its release: scores of an
// unnamed release mean nothing.
#include "runners/commands/judge/score_report.h"

#include <array>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "results/record/words.h"
#include "results/reports/json_files.h"
#include "results/reports/output.h"
#include "results/reports/terminal.h"

namespace deadrank::runners::commands {

namespace {

using Json = nlohmann::ordered_json;
using results::Outcome;
using results::ScoreRow;
using results::reports::csv_cell;
using results::reports::Ink;

constexpr std::array outcome_columns = {Outcome::caught, Outcome::wrong_rank, Outcome::wrong_class,
                                        Outcome::late,   Outcome::silent,     Outcome::crashed,
                                        Outcome::noisy,  Outcome::false_alarm};

std::string head_of(const Tool& tool) {
    return tool.version.empty() ? tool.name : fmt::format("{} {}", tool.name, tool.version);
}

std::string number(std::optional<double> share) { return share ? fmt::format("{:.4f}", *share) : ""; }

std::string csv_row(const Tool& tool, const ScoreRow& row) {
    std::string line = fmt::format("{},{},{},{}", csv_cell(tool.name), csv_cell(tool.version),
                                   csv_cell(row.name), row.cases);
    for (const Outcome outcome : outcome_columns) {
        const auto found = row.outcomes.find(outcome);
        line += fmt::format(",{}", found == row.outcomes.end() ? 0 : found->second);
    }
    const std::string median =
        row.delays.empty() ? ""
                           : fmt::format("{:.6f}", static_cast<double>(row.median_delay().count()) / 1e9);
    return line + fmt::format(",{},{},{},{}\n", number(row.precision()), number(row.recall()),
                              number(row.localisation()), median);
}

Json case_json(const ToolCase& one) {
    const results::Case& outcome = one.outcome;
    Json json = {{"scenario", outcome.scenario},
                 {"seed", outcome.seed},
                 {"in_field", one.in_field},
                 {"outcome", outcome.fault ? Json(name_of(outcome.fault->outcome)) : Json(nullptr)},
                 {"reason", outcome.fault ? outcome.fault->reason : outcome.reason},
                 {"control", outcome.control ? Json(name_of(outcome.control->outcome)) : Json(nullptr)}};
    if (one.pinned) {
        json["pinned"] = name_of(one.pinned->outcome);
        json["why"] = one.pinned->why;
    }
    return json;
}

}  // namespace

ToolScore score_of(const Tool& tool, const std::vector<ToolCase>& cases,
                   const scenarios::Taxonomy& taxonomy) {
    ToolScore score{&tool, {}, {}, 0, 0};
    std::vector<results::Case> counted;
    for (const ToolCase& one : cases) {
        score.cases.push_back(&one);
        const bool rang = one.outcome.fault && !one.outcome.fault->findings.empty();
        if (!one.in_field) ++score.outside, score.outside_rang += rang ? 1 : 0;
        if (one.in_field || rang) counted.push_back(one.outcome);
    }
    score.card = results::score_by_class(counted, taxonomy);
    return score;
}

std::string tool_table(const ToolScore& score, const results::reports::Style& style) {
    if (!score.tool->missing.empty())
        return fmt::format("  {}  {}\n", style.paint(Ink::bold, score.tool->name),
                           style.paint(Ink::yellow, "skipped: " + score.tool->missing));
    std::string text = results::reports::scorecard_table(score.card, head_of(*score.tool), style);
    if (score.outside > 0) {
        text += style.paint(
            Ink::dim, fmt::format("  {} outside of what it can report: silent in {}, and rang in {} that are "
                                  "counted above",
                                  results::counted(score.outside, "case"), score.outside - score.outside_rang,
                                  score.outside_rang));
        text += "\n";
    }
    return text;
}

std::string pinned_text(const ToolScore& score, const results::reports::Style& style) {
    std::string text;
    for (const ToolCase* one : score.cases) {
        if (!one->pinned || !one->outcome.fault) continue;
        const std::string what = fmt::format("{} · seed {}", one->outcome.scenario, one->outcome.seed);
        if (one->matches_pin()) {
            text += fmt::format("  {} {}: {}, as known of this release: {}\n", style.paint(Ink::dim, "="),
                                what, name_of(one->pinned->outcome), one->pinned->why);
        } else {
            text += fmt::format("  {} {}: {}, and no longer {}: {}\n", style.paint(Ink::red, "≠"), what,
                                name_of(one->outcome.fault->outcome), name_of(one->pinned->outcome),
                                one->outcome.fault->reason);
        }
    }
    return text;
}

std::string list_json(const std::vector<Tool>& tools) {
    Json all = Json::array();
    for (const Tool& tool : tools) {
        Json one = {{"tool", tool.name}, {"version", tool.version}};
        if (!tool.missing.empty()) one["missing"] = tool.missing;
        all.push_back(std::move(one));
    }
    return Json{{"format", 1}, {"tools", std::move(all)}}.dump(2) + "\n";
}

std::string score_json(const std::vector<ToolScore>& scores) {
    Json tools = Json::array();
    for (const ToolScore& score : scores) {
        Json cases = Json::array();
        for (const ToolCase* one : score.cases) cases.push_back(case_json(*one));
        Json tool = {{"tool", score.tool->name}, {"version", score.tool->version}};
        if (!score.tool->missing.empty()) {
            tool["skipped"] = score.tool->missing;
        } else {
            tool["outside_its_field"] = {{"cases", score.outside}, {"rang", score.outside_rang}};
            tool["scorecard"] = Json::parse(results::reports::scorecard_document(score.card));
            tool["cases"] = std::move(cases);
        }
        tools.push_back(std::move(tool));
    }
    return Json{{"format", 1}, {"tools", std::move(tools)}}.dump(2, ' ', false,
                                                                 Json::error_handler_t::replace) +
           "\n";
}

std::string score_csv(const std::vector<ToolScore>& scores) {
    std::string text = "tool,version,class,cases";
    for (const Outcome outcome : outcome_columns) text += fmt::format(",{}", name_of(outcome));
    text += ",precision,recall,localisation,median_seconds\n";
    for (const ToolScore& score : scores) {
        if (!score.tool->missing.empty()) continue;
        for (const ScoreRow& row : score.card.rows) text += csv_row(*score.tool, row);
        text += csv_row(*score.tool, score.card.total);
    }
    return text;
}

}  // namespace deadrank::runners::commands
