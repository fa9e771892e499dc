// runners/learn/lesson.h — A lesson made from a played run.
#pragma once

#include <string>
#include <vector>

#include "results/reports/clues.h"
#include "results/reports/json_files.h"
#include "runners/pipeline/play_trial.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::runners::learn {

// A lesson about one bug: what one sees, the questions, the answer. Made from the scenario's own texts and a
// run of it, so that every new scenario is a new lesson.

// A question with a checkable answer: a letter if there are choices, else ranks or nodes.
struct Challenge {
    std::string asks;
    std::vector<std::string> choices;
    std::vector<std::int32_t> numbers;  // the ranks or nodes that the answer must name, all of them
    std::size_t choice = 0;             // index of the right one

    bool accepts(std::string_view answer) const;
    std::string solution() const;  // "rank 3", "b: …"
};

struct Side {
    std::string label, with_bug, healed;
};

struct Lesson {
    std::string scenario, title, stage;
    std::uint64_t seed = 1;
    std::string story, sees, symptom, job;
    std::vector<results::reports::Clue> clues;
    std::string question;
    std::vector<std::string> hints;
    std::vector<Challenge> challenges;
    std::string answer, culprit, noticed;  // what it was, which rank, what a detector reported and when
    std::string cause, fix, why;
    std::vector<Side> sides;  // the run with the bug beside the healed one
    results::reports::Clue picture_with_bug, picture_healed;
    std::vector<std::string> reports;  // public bug reports
};

// Errors: when the trial could not be played, with the reason.
scenarios::Result<Lesson> make_lesson(const scenarios::Scenario& scenario,
                                      const scenarios::Taxonomy& taxonomy, const Trialled& trial);

// What a beginner must know to read the clues.
const std::vector<std::string>& primer();

// A lesson for programs and teachers, with its answers.

results::reports::Json lesson_json(const Lesson& lesson);

}  // namespace deadrank::runners::learn
