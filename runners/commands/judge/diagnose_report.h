// runners/commands/judge/diagnose_report.h — A diagnosis and its accuracy, for eyes and for programs.
#pragma once

#include <string>

#include "results/diagnosis/diagnosis.h"
#include "results/text/style.h"
#include "runners/studies/score.h"

namespace deadrank::runners::commands {

std::string diagnosis_text(const results::diagnosis::Diagnosis& diagnosis, const std::string& place,
                           const scenarios::Taxonomy& taxonomy, const results::reports::Style& style);
std::string diagnosis_json(const results::diagnosis::Diagnosis& diagnosis, const std::string& place);

std::string score_text(const DiagnosisScore& score, std::size_t seeds, const results::reports::Style& style);
std::string score_json(const DiagnosisScore& score);

}  // namespace deadrank::runners::commands
