// results/diagnosis/operator_answer.h — A diagnosis for an operator on call: what happened, which rank began
// it, why, how certain that is, what to look at next, and which scenario is like it.
#pragma once

#include <string>
#include <vector>

#include "results/diagnosis/diagnosis.h"
#include "results/reports/style.h"

namespace deadrank::results::diagnosis {

struct AnswerOptions {
    bool more = false;    // all lines whole, causes with their reasons, and fixes; else at most twelve lines
    std::string similar;  // a scenario with this symptom and cause; empty = none
};

std::string answer_text(const Diagnosis& diagnosis, const std::string& place,
                        const scenarios::Taxonomy& taxonomy, const AnswerOptions& options,
                        const reports::Style& style);

// "4,120 lines read, 3,988 not understood, 2 tracebacks without a rank"; empty when nothing was read.
std::string reading_text(const analysis::LogRead& reading);
// A log without any stamp has no times, and none is shown.
bool has_times(const analysis::LogRead& reading);
// What to look at next, for that symptom.
std::vector<std::string> next_looks(const Diagnosis& diagnosis);
// How certain an answer is, and why: "fair: …". Empty where nothing was found.
std::string certainty_text(const Incident& incident);

// The rows of an answer, by the word at their head.
enum class AnswerRow { what, who, why, lines, cause, next, sure, read };
std::string_view name_of(AnswerRow row);

// The first words of certainty_text().
enum class Certainty { high, fair, low };
std::string_view name_of(Certainty certainty);

}  // namespace deadrank::results::diagnosis
