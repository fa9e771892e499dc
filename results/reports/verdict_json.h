// results/reports/verdict_json.h — Cases as JSON: one object a line for scripts, one document a case for the
// run's directory.
#pragma once

#include <filesystem>
#include <string>

#include "results/judging/case.h"
#include "results/judging/scorecard.h"

namespace deadrank::results::reports {

// One line with exactly: scenario, runner, seed, verdict, reason, control, healed, findings, trace_hash,
// token, seconds. control and healed are verdicts, or null when they were not played; times are nanoseconds
// of the run.
std::string json_line(const Case& one);

// The whole case, beginning with how to see it again: verdict.json.
std::string verdict_document(const Case& one);
scenarios::Result<void> write_verdict(const Case& one, const std::filesystem::path& file);

std::string scorecard_document(const Scorecard& card);
scenarios::Result<void> write_scorecard(const Scorecard& card, const std::filesystem::path& file);

}  // namespace deadrank::results::reports
