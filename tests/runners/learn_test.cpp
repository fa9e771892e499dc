// Goal: a lesson is made from a run that really had the bug, shows nothing of the answer before it is asked
// for, accepts the right answers and no others, and keeps what was learnt.
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "results/detectors/detector.h"
#include "runners/backend/extension.h"
#include "runners/backends/sim/sim_runner.h"
#include "runners/learn/course.h"
#include "runners/learn/dialogue.h"
#include "runners/learn/pages.h"
#include "scenarios/format/scenario_file.h"
#include "scenarios/format/taxonomy_file.h"
#include "tests/support/shell.h"

namespace deadrank::tests {
namespace {

using namespace runners;
using learn::Challenge;
using learn::Lesson;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

const fs::path learning_data = fs::path(DEADRANK_SOURCE_DIRECTORY) / "scenarios";

struct School {
    scenarios::Taxonomy taxonomy = *scenarios::load_taxonomy(learning_data / "taxonomy.toml");
    scenarios::Vocabulary vocabulary = runners::vocabulary();
    std::unique_ptr<Runner> runner = std::make_unique<SimRunner>();
    results::Detectors detectors = results::all_detectors();
    learn::Classroom room{taxonomy, vocabulary, *runner, detectors};

    Lesson lesson(const std::string& id, std::uint64_t seed = 1) const {
        const auto scenario =
            scenarios::load(learning_data / "catalog" / (id + ".toml"), taxonomy, vocabulary);
        EXPECT_TRUE(scenario) << id;
        auto made = learn::lesson_on(*scenario, seed, room);
        EXPECT_TRUE(made) << (made ? "" : made.error().text());
        return std::move(*made);
    }
};

std::string all_clues(const Lesson& lesson) {
    std::string text;
    for (const auto& clue : lesson.clues) {
        text += clue.title + "\n";
        for (const std::string& line : clue.lines) text += line + "\n";
    }
    return text;
}

TEST(Lesson, ShowsWhatTheRanksDidAndNothingOfTheTruth) {
    const Lesson lesson = School().lesson("communication/rank_leaves_all_reduce");
    const std::string clues = all_clues(lesson);
    EXPECT_THAT(clues, HasSubstr("never ended"));
    for (const char* word : {"kill_rank", "fault", "suspect", "blame", "collective_hang", "alarm"}) {
        EXPECT_THAT(clues, Not(HasSubstr(word)));
        EXPECT_THAT(lesson.sees + lesson.question, Not(HasSubstr(word)));
    }
    ASSERT_EQ(lesson.challenges.size(), 2u);
    EXPECT_EQ(lesson.challenges[0].asks, "Which rank is it?");
    const std::string culprit = lesson.challenges[0].solution();
    EXPECT_THAT(lesson.culprit, HasSubstr("rank " + culprit));
    EXPECT_THAT(clues, HasSubstr("rank " + culprit + "  ")) << "the odd one stands in a row of its own";
    EXPECT_FALSE(lesson.sides.empty());
}

TEST(Lesson, HasOtherRanksUnderOtherSeeds) {
    const School school;
    std::set<std::string> answers;
    for (std::uint64_t seed = 1; seed <= 6; ++seed)
        answers.insert(school.lesson("communication/rank_leaves_all_reduce", seed).challenges[0].solution());
    EXPECT_GT(answers.size(), 2u);
}

TEST(Lesson, IsTheSameTwice) {
    const School school;
    const Lesson a = school.lesson("scheduling/one_slow_device", 7),
                 b = school.lesson("scheduling/one_slow_device", 7);
    EXPECT_EQ(learn::lesson_page(a), learn::lesson_page(b));
}

TEST(Challenge, AcceptsTheRightRanksInAnyWordsAndNoOthers) {
    const Challenge one{"Which rank is it?", {}, {3}, 0}, several{"Which ranks?", {}, {0, 1, 2, 5}, 0};
    EXPECT_TRUE(one.accepts("3"));
    EXPECT_TRUE(one.accepts("rank 3"));
    EXPECT_FALSE(one.accepts("13"));
    EXPECT_FALSE(one.accepts("2,3"));
    EXPECT_FALSE(one.accepts(""));
    EXPECT_FALSE(one.accepts("three"));
    EXPECT_TRUE(several.accepts("0-2,5"));
    EXPECT_TRUE(several.accepts("5 2 1 0"));
    EXPECT_FALSE(several.accepts("0-5"));
    EXPECT_FALSE(several.accepts("99999999999999999999"));
}

TEST(Challenge, AcceptsALetter) {
    const Challenge challenge{"Why?", {"x", "y", "z"}, {}, 1};
    EXPECT_TRUE(challenge.accepts("b"));
    EXPECT_TRUE(challenge.accepts(" B "));
    EXPECT_FALSE(challenge.accepts("a"));
    EXPECT_FALSE(challenge.accepts("bb"));
    EXPECT_FALSE(challenge.accepts(""));
}

TEST(Quiz, IsTheSameForOneSeedAndAnotherForTheNext) {
    std::vector<scenarios::Scenario> scenarios(20);
    for (std::size_t i = 0; i < scenarios.size(); ++i) scenarios[i].id = std::to_string(i);
    const auto ids = [&](std::uint64_t seed) {
        std::string text;
        for (const auto& drawn : learn::draw_quiz(scenarios, 5, seed))
            text += drawn.scenario->id + ":" + std::to_string(drawn.seed) + " ";
        return text;
    };
    EXPECT_EQ(ids(1), ids(1));
    EXPECT_NE(ids(1), ids(2));
    EXPECT_EQ(learn::draw_quiz(scenarios, 100, 1).size(), 20u) << "each bug once";
}

class LearnAtHome : public testing::Test {
protected:
    void SetUp() override {
        home_ =
            fs::path(testing::TempDir()) /
            ("deadrank_learn_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
        fs::remove_all(home_);
        fs::create_directories(home_);
    }
    void TearDown() override { fs::remove_all(home_); }

    Answer learn(const std::string& arguments, const std::string& script = "") const {
        std::ofstream(home_ / "script") << script;
        return shell("XDG_STATE_HOME='" + home_.string() + "' DEADRANK_CATALOG='" +
                     (learning_data / "catalog").string() +
                     "' " DEADRANK_BINARY_DIRECTORY "/deadrank learn " + arguments + " <'" +
                     (home_ / "script").string() + "'");
    }
    nlohmann::json key(const std::string& arguments) const {
        return nlohmann::json::parse(learn(arguments + " --json").out);
    }
    fs::path home_;
};

TEST_F(LearnAtHome, WalksThroughALessonByScriptAndKeepsWhatWasLearnt) {
    const std::string id = "communication/rank_leaves_all_reduce";
    const auto lesson = key(id)[0];
    const std::string rank = lesson["challenges"][0]["answer"], letter = lesson["challenges"][1]["answer"];
    const std::string wrong = rank == "1" ? "2" : "1";
    const Answer talk = learn(id, "h\n" + wrong + "\nh\n" + rank + "\n" + letter + "\n");
    EXPECT_EQ(talk.code, 0);
    std::size_t at = 0;
    for (const std::string& next :
         {std::string("Before the first lesson"), lesson["title"].get<std::string>(),
          std::string("never ended"), std::string("The question"), std::string("Which rank is it?"),
          std::string("Hint: "), std::string("✘ No"), std::string("Hint: "), std::string("✔ Yes"),
          std::string("What is the root cause?"), std::string("✔ Yes"), std::string("What it was"),
          std::string("The fix"), std::string("with the bug"), std::string("healed"),
          std::string("1 of 1 lesson solved")}) {
        const std::size_t found = talk.out.find(next, at);
        ASSERT_NE(found, std::string::npos) << next << "\n" << talk.out;
        at = found + next.size();
    }
    const auto listed = key("--list communication");
    for (const auto& one : listed) {
        EXPECT_EQ(one["solved"], one["id"] == id) << one;
        if (one["id"] == id) {
            EXPECT_EQ(one["hints"], 2);
            EXPECT_EQ(one["tries"], 3);
        }
    }
}

TEST_F(LearnAtHome, ShowsTheAnswerOnlyWhenItIsAskedFor) {
    const std::string id = "communication/rank_leaves_all_reduce";
    const Answer left = learn(id);
    EXPECT_EQ(left.code, 0);
    EXPECT_THAT(left.out, HasSubstr("Which rank is it?"));
    EXPECT_THAT(left.out, Not(HasSubstr("What it was")));
    EXPECT_THAT(left.out, HasSubstr("0 of 1 lesson solved"));
    const Answer shown = learn(id, "s\ns\n");
    EXPECT_THAT(shown.out, HasSubstr("What it was"));
    EXPECT_THAT(shown.out, HasSubstr("0 of 1 lesson solved"));
}

TEST_F(LearnAtHome, GoesOnWithTheFirstLessonThatIsNotSolved) {
    const auto course = key("--list scheduling");
    const std::string first = course[0]["id"], title = course[1]["title"];
    const auto lesson = key(first)[0];
    std::string script;
    for (const auto& challenge : lesson["challenges"])
        script += challenge["answer"].get<std::string>() + "\n";
    learn(first, script);
    EXPECT_THAT(learn("scheduling", "q\n").out, testing::StartsWith(title));
}

TEST_F(LearnAtHome, CountsAQuizAndGivesTheTeacherItsKey) {
    const auto lessons = key("communication --quiz 2 --seed 42");
    ASSERT_EQ(lessons.size(), 2u);
    std::string right, wrong;
    std::size_t questions = 0;
    for (const auto& lesson : lessons) {
        for (const auto& challenge : lesson["challenges"]) {
            right += challenge["answer"].get<std::string>() + "\n";
            wrong += "-\n";
            ++questions;
        }
    }
    const std::string all = std::to_string(questions);
    EXPECT_THAT(learn("communication --quiz 2 --seed 42", right).out,
                HasSubstr(all + " of " + all + " right"));
    EXPECT_THAT(learn("communication --quiz 2 --seed 42", wrong).out, HasSubstr("0 of " + all + " right"));
}

TEST_F(LearnAtHome, RefusesProgressThatItCannotReadAndSaysWhatToDo) {
    fs::create_directories(home_ / "deadrank");
    std::ofstream(home_ / "deadrank/learn.json") << "{\"format\": 99}";
    const Answer answer = learn("--list");
    EXPECT_EQ(answer.code, 64);
    EXPECT_THAT(answer.out, HasSubstr("learn.json"));
    EXPECT_THAT(answer.out, HasSubstr("--forget"));
    EXPECT_EQ(learn("--forget").code, 0);
    EXPECT_EQ(learn("--list").code, 0);
}

using DeviceLearnPages = LearnAtHome;

TEST_F(DeviceLearnPages, OpenInABrowserAndPrintOnOneSheetEach) {
    const std::string pages = (home_ / "pages").string();
    ASSERT_EQ(learn("--html " + pages).code, 0);
    const Answer checked =
        shell("python3 '" DEADRANK_SOURCE_DIRECTORY "/tests/browser/check_lessons.py' '" + pages + "'");
    if (checked.code == 77) GTEST_SKIP() << checked.out;
    EXPECT_EQ(checked.code, 0) << checked.out;
}

// Every scenario that is added is a lesson, with something to see and something to answer.
TEST(SlowLearn, MakesALessonOfEveryScenario) {
    const School school;
    auto catalog = scenarios::load_catalog(learning_data / "catalog", school.taxonomy, school.vocabulary);
    ASSERT_TRUE(catalog);
    for (const auto& scenario : catalog->scenarios) {
        SCOPED_TRACE(scenario.id);
        const auto lesson = learn::lesson_on(scenario, 1, school.room);
        ASSERT_TRUE(lesson) << lesson.error().text();
        EXPECT_GE(lesson->clues.size(), 3u);
        EXPECT_FALSE(lesson->sees.empty());
        EXPECT_FALSE(lesson->hints.empty());
        EXPECT_FALSE(lesson->challenges.empty());
        EXPECT_FALSE(lesson->why.empty());
        for (const Challenge& challenge : lesson->challenges) {
            if (!challenge.choices.empty()) {
                EXPECT_EQ(challenge.choices.size(), 4u);
            }
        }
        for (const auto& fault : scenario.faults)
            EXPECT_THAT(all_clues(*lesson), Not(HasSubstr(fault.kind))) << "a clue names what was injected";
    }
}

}  // namespace
}  // namespace deadrank::tests
