// runners/learn/pages.h — Lessons as text and as pages.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "results/reports/style.h"
#include "runners/learn/lesson.h"

namespace deadrank::runners::learn {

// ── The parts of a lesson as text for a terminal.

using results::reports::Style;

std::string opening_text(const Lesson& lesson, const Style& style);  // the symptoms, and the clues
std::string challenge_text(const Challenge& challenge, const Style& style);
std::string answer_text(const Lesson& lesson, const Style& style);  // the answer, the fix, both runs
std::string primer_text(const Style& style);
std::string paragraph(std::string_view text, const Style& style, std::size_t indent = 2);

// ── Lessons as pages in two folders. That of the students holds no answer and leads to none, so it may be
// copied or served alone: a page for each lesson with hints behind a click, its timeline, and a sheet of
// questions to print. That of the teacher has the answers, and leads to the pages of the students beside it.
// Nothing is cut; a sheet may take two pages. Files are named by the lesson's number: case-1f3a9c.html,
// .sheet.html, .run.html; .answers.html, .replay.html.

inline constexpr std::string_view students_folder = "students", teacher_folder = "teacher";

std::string lesson_page(const Lesson& lesson);
std::string question_sheet(const Lesson& lesson);
std::string answer_sheet(const Lesson& lesson);

std::string quiz_page(const std::vector<Lesson>& lessons, std::uint64_t seed);
std::string quiz_answers(const std::vector<Lesson>& lessons, std::uint64_t seed);

// By skill, with difficulty and minutes, and a field to search in; the other tells a teacher what each lesson is.
std::string index_page(const std::vector<Lesson>& lessons);
std::string teacher_page(const std::vector<Lesson>& lessons);

int minutes_of(const std::vector<Lesson>& lessons);

}  // namespace deadrank::runners::learn
