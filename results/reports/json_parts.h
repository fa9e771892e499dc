// results/reports/json_parts.h — Pieces that several JSON reports share: findings and judgements.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "results/judging/judge.h"
#include "results/record/blame_json.h"

namespace deadrank::results::reports {

using Json = nlohmann::ordered_json;

Json finding_json(const Finding& finding);
Json findings_json(const std::vector<Finding>& findings);
Json judgement_json(const Judgement& judgement);

// Throws nlohmann's exceptions on a wrong type; the reader of the file turns them into an Error.
Finding finding_from(const Json& json);

// Bytes that are no UTF-8 (a foreign log may hold any) are replaced, never a reason to fail.
std::string dumped(const Json& json, int indent = -1);

}  // namespace deadrank::results::reports
