// results/reports/json_files.h — Cases as files for programs: JSON, and JUnit XML for CI.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "results/judging/case.h"
#include "results/judging/judge.h"
#include "results/judging/scorecard.h"
#include "results/record/evidence.h"
#include "results/record/finding.h"
#include "scenarios/model/error.h"

namespace deadrank::results::reports {

// ── Pieces that several JSON reports share: findings and judgements.

using Json = nlohmann::ordered_json;

Json finding_json(const Finding& finding);
Json findings_json(const std::vector<Finding>& findings);
Json judgement_json(const Judgement& judgement);

// Bytes that are not UTF-8 (a third-party log may hold any) are replaced, never an error.
std::string dumped(const Json& json, int indent = -1);

// ── Cases as JSON: one object a line for scripts, one document a case for the run's directory.

// One line with exactly: scenario, runner, seed, verdict, reason, control, healed, findings, trace_hash,
// token, seconds. control and healed are verdicts, or null when they were not played; times are nanoseconds
// of the run.
std::string json_line(const Case& one);

// The whole case, beginning with how to reproduce it: verdict.json.
std::string verdict_document(const Case& one);
scenarios::Result<void> write_verdict(const Case& one, const std::filesystem::path& file);

std::string scorecard_document(const Scorecard& card);
scenarios::Result<void> write_scorecard(const Scorecard& card, const std::filesystem::path& file);

// What the detectors said of one run, as a file.
scenarios::Result<void> write_findings(const std::vector<Finding>& findings,
                                       const std::filesystem::path& file);

// Cases as JUnit XML for CI: one testcase per scenario and seed; unknown is skipped, never passed.
std::string junit_document(const std::vector<Case>& cases);
scenarios::Result<void> write_junit(const std::vector<Case>& cases, const std::filesystem::path& file);

}  // namespace deadrank::results::reports
