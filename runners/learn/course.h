// runners/learn/course.h — A question drawn for each lesson, and lessons in an order.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "runners/learn/lesson.h"

namespace deadrank::runners::learn {

// Draws that everybody gets alike from one seed, whatever the compiler (SplitMix64).

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

// What a lesson asks that can be checked: who it was, and why it happened.

// Ranks or nodes are asked for where the scenario's alarm must name them, the root cause always. Wrong causes
// are drawn, by scenario and seed, from those that show the same symptom, then from the same stage.
std::vector<Challenge> challenges_for(const scenarios::Scenario& scenario,
                                      const scenarios::Taxonomy& taxonomy, const Trialled& trial);

// From scenarios to lessons: their order, and the run each one is made from.

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
