// runners/commands/judge/score_report.h — The scores of tools: as text, as JSON, and as CSV.
#pragma once

#include <string>
#include <vector>

#include "results/judging/scorecard.h"
#include "results/reports/style.h"
#include "runners/score/score.h"

namespace deadrank::runners::commands {

// One tool's cases, counted. Cases outside its field count only when it raised an alarm.
struct ToolScore {
    const Tool* tool = nullptr;
    std::vector<const ToolCase*> cases;
    results::Scorecard card;  // of the cases in its field, by class
    std::size_t outside = 0, outside_rang = 0;
};

ToolScore score_of(const Tool& tool, const std::vector<ToolCase>& cases, const scenarios::Taxonomy& taxonomy);

std::string tool_table(const ToolScore& score, const results::reports::Style& style);
// What differs from the pinned results, for better or worse, and what agrees; empty when nothing was pinned.
std::string pinned_text(const ToolScore& score, const results::reports::Style& style);
// Which tools are installed, and how to get the others.
std::string list_json(const std::vector<Tool>& tools);
std::string score_json(const std::vector<ToolScore>& scores);
std::string score_csv(const std::vector<ToolScore>& scores);

}  // namespace deadrank::runners::commands
