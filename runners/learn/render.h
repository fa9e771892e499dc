// runners/learn/render.h — A lesson as text for a terminal, part by part.
#pragma once

#include "results/text/style.h"
#include "runners/learn/lesson.h"

namespace deadrank::runners::learn {

using results::reports::Style;

std::string opening_text(const Lesson& lesson, const Style& style);  // what one sees, and the clues
std::string challenge_text(const Challenge& challenge, const Style& style);
std::string answer_text(const Lesson& lesson, const Style& style);  // what it was, the fix, both runs
std::string primer_text(const Style& style);
std::string paragraph(std::string_view text, const Style& style, std::size_t indent = 2);

}  // namespace deadrank::runners::learn
