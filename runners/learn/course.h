// runners/learn/course.h — From scenarios to lessons: their order, and the run each one is made from.
#pragma once

#include <atomic>
#include <functional>

#include "runners/learn/lesson.h"

namespace deadrank::runners::learn {

// By stage as the taxonomy orders them; within a stage what hangs or fails loudly before what is silently
// wrong.
void in_course_order(std::vector<scenarios::Scenario>& scenarios, const scenarios::Taxonomy& taxonomy);

// Plays it in the simulator under this seed. Errors: as make_lesson.
struct Classroom {
    const scenarios::Taxonomy& taxonomy;
    const scenarios::Vocabulary& vocabulary;
    Runner& runner;
    const results::Detectors& detectors;
    std::atomic<bool>* stop = nullptr;
};
scenarios::Result<Lesson> lesson_on(const scenarios::Scenario& scenario, std::uint64_t seed,
                                    const Classroom& room);

// `count` different scenarios and a seed for each, drawn by `seed`.
struct Drawn {
    const scenarios::Scenario* scenario = nullptr;
    std::uint64_t seed = 1;
};
std::vector<Drawn> draw_quiz(const std::vector<scenarios::Scenario>& scenarios, std::size_t count,
                             std::uint64_t seed);

}  // namespace deadrank::runners::learn
