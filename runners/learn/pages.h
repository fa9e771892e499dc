// runners/learn/pages.h — Lessons as text and as pages.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "results/text/style.h"
#include "runners/learn/lesson.h"

namespace deadrank::runners::learn {

// A lesson as text for a terminal, part by part.

using results::reports::Style;

std::string opening_text(const Lesson& lesson, const Style& style);  // what one sees, and the clues
std::string challenge_text(const Challenge& challenge, const Style& style);
std::string answer_text(const Lesson& lesson, const Style& style);  // what it was, the fix, both runs
std::string primer_text(const Style& style);
std::string paragraph(std::string_view text, const Style& style, std::size_t indent = 2);

// Lessons as pages: hints and answers behind a click, and a handout of one sheet each.

std::string lesson_page(const Lesson& lesson);
std::string handout_page(const Lesson& lesson);  // A4, everything open
std::string index_page(const std::vector<Lesson>& lessons);

// Name of a lesson's files, without suffix: "communication-rank_leaves_all_reduce".
std::string page_name(const Lesson& lesson);

}  // namespace deadrank::runners::learn
