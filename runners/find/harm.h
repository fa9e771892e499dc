// runners/find/harm.h — What a plan did to its job, told from its control run alone: no expectation is
// needed. It is the job's reaction (results/judging/reaction.h) by what it costs: which words an error had
// does not matter, how long the job took does.
#pragma once

#include <string_view>

#include "runners/runner/runner.h"

namespace deadrank::runners::find {

// In order of badness.
enum class Harm { none, slower, wrong_result, failed, restarted, hung };

std::string_view name_of(Harm);  // "wrong_result"
std::string_view text_of(Harm);  // "the job ended with another result"

// `slower`: it took a tenth longer than the control, or more.
Harm harm_of(const Record& fault, const Record& control);

}  // namespace deadrank::runners::find
