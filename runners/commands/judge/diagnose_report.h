// runners/commands/judge/diagnose_report.h — A diagnosis and its accuracy, as text and as JSON.
#pragma once

#include <string>

#include "results/diagnosis/operator_answer.h"
#include "results/reports/style.h"
#include "runners/score/score.h"

namespace deadrank::runners::commands {

std::string diagnosis_json(const results::diagnosis::Diagnosis& diagnosis, const std::string& place,
                           const std::string& similar);

std::string score_text(const DiagnosisScore& score, std::size_t seeds, const results::reports::Style& style);
std::string score_json(const DiagnosisScore& score);

}  // namespace deadrank::runners::commands
