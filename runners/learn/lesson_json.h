// runners/learn/lesson_json.h — A lesson for programs and teachers, with its answers.
#pragma once

#include "results/reports/json_parts.h"
#include "runners/learn/lesson.h"

namespace deadrank::runners::learn {

results::reports::Json lesson_json(const Lesson& lesson);

}  // namespace deadrank::runners::learn
