// scenarios/program/argument_words.h — Arguments for which only certain words will do: a level, a reduction,
// an element type, a time. What stands in the text is checked before anything runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/program/program_lexer.h"
#include "scenarios/program/program_words.h"

namespace deadrank::scenarios::program {

// `value`: what a call of this function or method gives for this parameter. Only a text that stands there is
// looked at, also on either side of `a if c else b`.
void check_closed_word(const std::string& function, const std::string& parameter, const Expr& value,
                       std::vector<Mistake>& mistakes);

// cpu, cuda, cuda:1.
bool is_device_word(std::string_view text);

}  // namespace deadrank::scenarios::program
