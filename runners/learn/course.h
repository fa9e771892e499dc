// runners/learn/course.h — Draws the questions of each lesson, and puts lessons in order.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "runners/learn/lesson.h"

namespace deadrank::runners::learn {

// Draws that depend only on the seed, not on the compiler (SplitMix64).
class Chance {
public:
    Chance(std::string_view name, std::uint64_t seed) : state_(seed) {
        for (const char letter : name)
            state_ = (state_ ^ static_cast<unsigned char>(letter)) * 0x100000001b3ULL;
    }
    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }
    template <class T>
    void shuffle(std::vector<T>& list) {
        for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[next() % i]);
    }

private:
    std::uint64_t state_;
};

// A lesson's checkable questions: which rank it was, since which step, and why it happened.
// Asks for ranks or nodes and for the step if the scenario's alarm must name them, for the step also if its
// question is "since when?" or "since which step?", and always for the root
// cause. Wrong causes are drawn, by scenario and seed, from those with the same symptom, then from the same
// stage.
std::vector<Challenge> challenges_for(const scenarios::Scenario& scenario,
                                      const scenarios::Taxonomy& taxonomy, const Trialled& trial);

// Whether a learner must say since which step: the alarm must name it, or the question asks for it.
bool asks_for_step(const scenarios::Scenario& scenario);

// From scenarios to lessons: their order, and the run that each is made from.
// By skill, each before those that build on it; of one skill, short lessons first.
void in_course_order(std::vector<scenarios::Scenario>& scenarios);

// The course of docs/course, in its order; lessons that are not among `scenarios` are left out.
std::vector<scenarios::Scenario> ten_lessons(const std::vector<scenarios::Scenario>& scenarios);

// Plays a scenario in the simulator under a seed. Errors: as make_lesson.
struct Classroom {
    const scenarios::Taxonomy& taxonomy;
    const scenarios::Vocabulary& vocabulary;
    Runner& runner;
    const results::Detectors& detectors;
    std::atomic<bool>* stop = nullptr;
};
scenarios::Result<Lesson> lesson_on(const scenarios::Scenario& scenario, std::uint64_t seed,
                                    const Classroom& room, bool pages = false);

// `count` different scenarios with a seed each, drawn by `seed`.
struct Drawn {
    const scenarios::Scenario* scenario = nullptr;
    std::uint64_t seed = 1;
};
std::vector<Drawn> draw_quiz(const std::vector<scenarios::Scenario>& scenarios, std::size_t count,
                             std::uint64_t seed);

}  // namespace deadrank::runners::learn
