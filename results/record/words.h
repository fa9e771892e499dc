// results/record/words.h — Sentences about ranks, steps and times; numbers found in a line.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "results/record/blame.h"
#include "results/record/time.h"
#include "scenarios/model/scenario.h"

namespace deadrank::results {

// ── Quantities in a reader's words: "60.0 s", "ranks 0-3 and 7", "1 finding, 2 findings".

// Three figures or so: "350 ns", "12.5 µs", "60.0 s", "12 min 5 s", "3 h 20 min", "4 d 2 h". `never` is
// "never".
std::string duration_text(Time time);

// How long after something: "at once", "60.0 s after the fault".
std::string after_text(Time delay, std::string_view what);

// Six figures, or as many as tell the number from the one that it is compared with.
std::string number_text(double number, double beside);

// "0-3,7"; for few ranks this reads well, for many it stays short.
std::string ranges_text(const std::vector<std::int32_t>& numbers);

// Only the fields asked for, as in "ranks 0-3, step 7"; "nobody" when they are empty.
std::string blame_text(const Blame& blame, const scenarios::BlameFields& fields);

// All fields that are set; "nobody" when none is.
std::string blame_text(const Blame& blame);

// Whether the list has the word; whether the text has one of the words in it.
bool has(const std::vector<std::string>& list, std::string_view word);
bool has_any(std::string_view text, std::initializer_list<std::string_view> words);

std::string lowered(std::string_view text);  // ASCII letters alone

// "1 finding", "2 findings".
std::string counted(std::size_t count, std::string_view noun);

// Ranks as third-party tools print them.
// All whole numbers of a text such as "{2, 3}" or "({'5'})", in its order.
std::vector<Rank> numbers_in(std::string_view text);

}  // namespace deadrank::results
