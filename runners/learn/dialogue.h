// runners/learn/dialogue.h — One lesson, asked and answered: at a terminal, or by a script on standard input.
#pragma once

#include <istream>

#include "runners/learn/progress.h"
#include "runners/learn/render.h"

namespace deadrank::runners::learn {

enum class Way { on, quit };

struct Talk {
    std::istream& in;
    Style style;
    bool echo = false;  // a script's answers are printed, so that its transcript reads
};

// Ends with the answer, unless the reader leaves. `done` is what to keep.
Way teach(const Lesson& lesson, Talk& talk, Done& done);

// One try for each question and no hints; the number of right answers is added.
Way examine(const Lesson& lesson, Talk& talk, std::size_t& right, std::size_t& asked);

}  // namespace deadrank::runners::learn
