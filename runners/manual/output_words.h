// runners/manual/output_words.h — Words that the program prints, and what each means, for `deadrank explain`
// and the manual. tests/runners/manual/vocabulary_test.cpp compares them with the enumerations that print
// them.
#pragma once

#include <span>
#include <string_view>

namespace deadrank::runners::manual {

struct OutputWord {
    std::string_view where;  // "verdict of run, judge, replay"
    std::string_view word;   // "wrong_class"
    std::string_view says;
};

// In groups of one `where`.
std::span<const OutputWord> output_words();

// "wrong place" and "wrong-place" are "wrong_place".
bool is_same_word(std::string_view one, std::string_view other);

}  // namespace deadrank::runners::manual
