// runners/learn/pages.h — Lessons as text and as pages.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "results/reports/style.h"
#include "runners/learn/lesson.h"

namespace deadrank::runners::learn {

// The parts of a lesson as text for a terminal.

using results::reports::Style;

std::string opening_text(const Lesson& lesson, const Style& style);  // the symptoms, and the clues
std::string challenge_text(const Challenge& challenge, const Style& style);
std::string answer_text(const Lesson& lesson, const Style& style);  // the answer, the fix, both runs
std::string primer_text(const Style& style);
std::string paragraph(std::string_view text, const Style& style, std::size_t indent = 2);

// A lesson as a page with hints and answers behind a click, and as a one-sheet handout.

std::string lesson_page(const Lesson& lesson);
std::string handout_page(const Lesson& lesson);  // A4, with answers shown
std::string index_page(const std::vector<Lesson>& lessons);

// Name of a lesson's files without suffix: "communication-rank_leaves_all_reduce".
std::string page_name(const Lesson& lesson);

}  // namespace deadrank::runners::learn
