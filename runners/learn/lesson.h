// runners/learn/lesson.h — A lesson made from a played run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/reports/clues.h"
#include "results/reports/json_files.h"
#include "runners/learn/challenge.h"
#include "runners/pipeline/play_trial.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::runners::learn {

// ── What a lesson is worth to somebody who plans a class. Follows from the symptom, which every learner sees,
// never from the cause.

// What a learner practises, in the order in which skills build on each other.
struct Skill {
    std::string_view id, name, teaches;
    int difficulty;           // 1 easy, 2 medium, 3 hard
    std::string_view before;  // id of the skill that comes before; empty: none
};
const std::vector<Skill>& skills();
const Skill& skill_for(const scenarios::Bug& bug);

std::string_view difficulty_name(int difficulty);
int minutes_for(const scenarios::Scenario& scenario);

// "case-1f3a9c": names a lesson in titles, file names and addresses, and tells nothing of its bug.
std::string case_of(std::string_view scenario);

// ── A lesson about one bug: what one sees, the questions, the answer. Made from the scenario's own texts
// and a run of it, so that every new scenario is a new lesson.

struct Side {
    std::string label, with_bug, healed;
};

struct Lesson {
    std::string number, scenario, title, stage;  // the number alone is shown before the answer
    std::uint64_t seed = 1;
    const Skill* skill = nullptr;
    int minutes = 0;
    std::string story, symptom, job, watched;  // who started the ranks and what bounds their waits
    std::vector<std::string> seen;             // what the run shows, in sentences: made from its evidence
    std::string sees, reported;  // the scenario's own words: what the run shows, and what only the report says
    std::vector<results::reports::Clue> clues;
    std::string question;
    std::vector<std::string> hints;
    std::vector<Challenge> challenges;
    std::string answer, culprit, noticed;  // what it was, which rank, what a detector reported and when
    std::string cause, fix, why, patch;    // the patch turns the bug into its fix, if it is one of a program
    std::vector<Side> sides;               // the run with the bug beside the healed one
    results::reports::Clue picture_with_bug, picture_healed;
    std::vector<std::string> reports;  // public bug reports
    std::string run_page, replay_page;  // HTML: the timeline without and with what is known of the bug
    std::string token;                  // for `deadrank replay`
};

// Errors: when the trial could not be played, with the reason. `pages`: fill in the HTML of both timelines.
scenarios::Result<Lesson> make_lesson(const scenarios::Scenario& scenario,
                                      const scenarios::Taxonomy& taxonomy, const Trialled& trial,
                                      bool pages = false);

// A scenario's `sees` up to "The report says: ", and what stands behind it: facts that the run does not show.
std::pair<std::string, std::string> parts_of_story(std::string_view sees);

// What a run shows in sentences: how far it came, how it ended, how fast it was beside the good run.
std::vector<std::string> seen_in(const results::Evidence& evidence, const results::Evidence* good);

// Who would end the job, and when: without it a reader cannot tell a hang from patience.
std::string watched_words(const scenarios::Plan& plan);

// The lines of a scenario's program as every rank ran it, with the bug. None if the workload is no program.
results::reports::Clue program_clue(const scenarios::Scenario& scenario);

// What a beginner must know to read the clues.
const std::vector<std::string>& primer();

// A lesson for programs and teachers, with its answers.
results::reports::Json lesson_json(const Lesson& lesson);

}  // namespace deadrank::runners::learn
