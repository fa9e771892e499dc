// runners/learn/pages.h — Lessons as pages: hints and answers behind a click, and a handout of one sheet
// each.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runners/learn/lesson.h"

namespace deadrank::runners::learn {

std::string lesson_page(const Lesson& lesson);
std::string handout_page(const Lesson& lesson);  // A4, everything open
std::string index_page(const std::vector<Lesson>& lessons);

// Name of a lesson's files, without suffix: "communication-rank_leaves_all_reduce".
std::string page_name(const Lesson& lesson);

}  // namespace deadrank::runners::learn
