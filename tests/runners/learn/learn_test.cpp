// Goal: a lesson is made from a run that really had the bug, shows nothing of the answer before it is asked
// for, accepts the right answers and no others, and keeps what was learnt.
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "results/detectors/detector.h"
#include "results/record/words.h"
#include "runners/backends/sim/sim_runner.h"
#include "runners/extension/extension.h"
#include "runners/learn/course.h"
#include "runners/learn/dialogue.h"
#include "runners/learn/pages.h"
#include "scenarios/format/scenario_file.h"
#include "scenarios/format/taxonomy_file.h"
#include "tests/runners/learn/story_claims.h"
#include "tests/support/shell.h"

namespace deadrank::tests {
namespace {

using namespace runners;
using learn::Challenge;
using learn::Lesson;
using learn::Reply;
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
    ASSERT_EQ(lesson.challenges.size(), 3u);
    EXPECT_EQ(lesson.challenges[0].asks, "Which rank is it?");
    const std::string culprit = lesson.challenges[0].solution();
    EXPECT_THAT(lesson.culprit, HasSubstr("rank " + culprit));
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

Challenge asks_for(std::vector<std::int32_t> numbers) {
    Challenge challenge;
    challenge.asks = "Which ranks are they?";
    challenge.numbers = std::move(numbers);
    challenge.highest = 15;
    return challenge;
}

TEST(Challenge, AcceptsTheRightRanksInAnyWordsAndNoOthers) {
    const Challenge one = asks_for({3}), several = asks_for({0, 1, 2, 5});
    for (const char* right : {"3", "rank 3", " Rank 3", "it is rank 3", "3-3"})
        EXPECT_EQ(one.read(right).sense, Reply::right) << right;
    for (const char* wrong : {"13", "2,3", "0-3", "4"}) EXPECT_EQ(one.read(wrong).sense, Reply::wrong) << wrong;
    for (const char* right : {"0-2,5", "5 2 1 0", "ranks 0, 1 and 2, 5"})
        EXPECT_EQ(several.read(right).sense, Reply::right) << right;
    EXPECT_EQ(several.read("0-5").sense, Reply::wrong);
}

TEST(Challenge, AsksAgainWhereAnAnswerIsNone) {
    const Challenge one = asks_for({3});
    for (const char* unclear : {"", "  ", "nobody", "three", "rnak 3", "3?", "16", "99999999999999999999", "b"})
        EXPECT_EQ(one.read(unclear).sense, Reply::unclear) << unclear;
    EXPECT_THAT(one.read("three").help, HasSubstr("did you mean '3'?"));
    EXPECT_THAT(one.read("rnak 3").help, HasSubstr("did you mean 'rank'?"));
    EXPECT_THAT(one.read("16").help, HasSubstr("a number from 0 to 15"));
}

TEST(Challenge, AcceptsALetterOrAChoicesOwnWords) {
    Challenge challenge;
    challenge.choices = {"Clock drift: one", "Uneven work: two", "Stale state: three"};
    challenge.choice = 1;
    for (const char* right : {"b", " B ", "uneven work", "Uneven"})
        EXPECT_EQ(challenge.read(right).sense, Reply::right) << right;
    for (const char* wrong : {"a", "c", "clock drift"})
        EXPECT_EQ(challenge.read(wrong).sense, Reply::wrong) << wrong;
    for (const char* unclear : {"", "d", "bb", "-", "unevn work", "3"})
        EXPECT_EQ(challenge.read(unclear).sense, Reply::unclear) << unclear;
    EXPECT_THAT(challenge.read("unevn work").help, HasSubstr("Did you mean b: uneven work?"));
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
    static std::string text_of(const fs::path& file) {
        std::ifstream in(file);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    fs::path home_;
};

TEST_F(LearnAtHome, WalksThroughALessonByScriptAndKeepsWhatWasLearnt) {
    const std::string id = "communication/rank_leaves_all_reduce";
    const auto lesson = key(id)[0];
    const std::string rank = lesson["challenges"][0]["answer"], step = lesson["challenges"][1]["answer"],
                      letter = lesson["challenges"][2]["answer"];
    const std::string wrong = rank == "1" ? "2" : "1";
    const Answer talk =
        learn(id, "h\n" + wrong + "\nrnak 7\nh\n" + rank + "\n" + step + "\n" + letter + "\n");
    EXPECT_EQ(talk.code, 0);
    std::size_t at = 0;
    for (const std::string& next :
         {std::string("Before the first lesson"), lesson["case"].get<std::string>(),
          std::string("The run shows:"), std::string("never ended"), std::string("The question"), std::string("Which rank is it?"),
          std::string("Hint: "), std::string("✘ No"), std::string("did you mean 'rank'?"), std::string("Hint: "),
          std::string("✔ Yes"), std::string("Since which step?"), std::string("✔ Yes"),
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
            EXPECT_EQ(one["tries"], 4) << "what was mistyped does not count";
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
    const Answer shown = learn(id, "s\ns\ns\n");
    EXPECT_THAT(shown.out, HasSubstr("What it was"));
    EXPECT_THAT(shown.out, HasSubstr("0 of 1 lesson solved"));
}

TEST_F(LearnAtHome, GoesOnWithTheFirstLessonThatIsNotSolved) {
    const auto course = key("--list memory");
    const std::string first = course[0]["case"], next = course[1]["case"];
    const auto lesson = key(first)[0];
    std::string script;
    for (const auto& challenge : lesson["challenges"])
        script += challenge["answer"].get<std::string>() + "\n";
    learn(first, script);
    EXPECT_THAT(learn("memory", "q\n").out, testing::StartsWith(next));
}

TEST_F(LearnAtHome, CountsAQuizAndGivesTheTeacherItsKey) {
    const auto lessons = key("memory --quiz 2 --seed 42");
    ASSERT_EQ(lessons.size(), 2u);
    std::string right, wrong;
    std::size_t questions = 0;
    for (const auto& lesson : lessons) {
        for (const auto& challenge : lesson["challenges"]) {
            right += challenge["answer"].get<std::string>() + "\n";
            const std::string answer = challenge["answer"];
            wrong += challenge["choices"].empty() ? (answer == "0" ? "1\n" : "0\n") : answer == "a" ? "b\n" : "a\n";
            ++questions;
        }
    }
    const std::string all = std::to_string(questions);
    EXPECT_THAT(learn("memory --quiz 2 --seed 42", right).out,
                HasSubstr(all + " of " + all + " right"));
    EXPECT_THAT(learn("memory --quiz 2 --seed 42", wrong).out, HasSubstr("0 of " + all + " right"));
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

TEST_F(LearnAtHome, ListsWhatIsSearchedForAndWhatItIsWorth) {
    const auto all = key("--list"), found = key("--list --search 'MEDIUM standstill'"),
               of_class = key("--list --class rank_ordering");
    ASSERT_GT(found.size(), 10u);
    EXPECT_LT(found.size(), all.size());
    for (const auto& one : found) {
        EXPECT_EQ(one["difficulty"], "medium");
        EXPECT_EQ(one["skill"], "hang");
        EXPECT_EQ(one["after"], "errors");
        EXPECT_GT(one["minutes"], 0);
    }
    EXPECT_GT(of_class.size(), 0u);
    EXPECT_LT(of_class.size(), all.size());
    EXPECT_EQ(key("--list --search nosuchword").size(), 0u);
    EXPECT_EQ(learn("case-nosuch").code, 64);
}

TEST_F(LearnAtHome, PrintsAQuizAndItsAnswers) {
    const fs::path quiz = home_ / "quiz/students/quiz.html", answers = home_ / "quiz/teacher/quiz.html";
    const std::string asked = "memory --quiz 2 --seed 42 --html '" + (home_ / "quiz").string() + "'";
    ASSERT_EQ(learn(asked).code, 0);
    const std::string first = text_of(quiz);
    for (const auto& lesson : key("memory --quiz 2 --seed 42")) {
        EXPECT_THAT(first, HasSubstr(lesson["case"].get<std::string>()));
        EXPECT_THAT(text_of(answers), HasSubstr(lesson["case"].get<std::string>()));
    }
    EXPECT_THAT(text_of(answers), HasSubstr("Cause, "));
    EXPECT_THAT(first, Not(HasSubstr("Cause, ")));
    ASSERT_EQ(learn(asked).code, 0);
    EXPECT_EQ(text_of(quiz), first) << "the same seed, the same quiz";
    EXPECT_EQ(learn("--quiz 2 --html '" + (home_ / "quiz.html").string() + "'").code, 64)
        << "questions and answers are two files";
}

// Words of answers that a text contains, and links by which it leads out of its folder or to nothing.
std::vector<std::string> answers_in(const std::string& text, const fs::path& folder,
                                    const nlohmann::json& lessons) {
    std::vector<std::string> found;
    for (const auto& lesson : lessons) {
        for (const char* part : {"id", "title", "answer", "cause", "fix", "why", "token"}) {
            const std::string words = lesson[part];
            // The choices contain the cause's definition, behind a letter of its own.
            if (!words.empty() &&
                text.find(part == std::string("cause") ? "Cause, " + words : words) != std::string::npos)
                found.push_back(words);
        }
    }
    static const std::regex link("(?:href|src)=\"([^\"#]+)\"");
    for (std::sregex_iterator at(text.begin(), text.end(), link), end; at != end; ++at) {
        const std::string to = (*at)[1];
        if (to.find('/') != std::string::npos || !fs::exists(folder / to)) found.push_back("a link to " + to);
    }
    return found;
}

TEST_F(LearnAtHome, KeepsAnswersOutOfTheStudentsFolder) {
    const std::string lessons = "communication/rank_leaves_all_reduce memory/device_memory_leaks_on_one_rank";
    ASSERT_EQ(learn(lessons + " --html '" + (home_ / "pages").string() + "'").code, 0);
    ASSERT_EQ(learn(lessons + " --quiz 2 --html '" + (home_ / "pages").string() + "'").code, 0);
    const auto answers = key(lessons);
    const fs::path students = home_ / "pages/students", teacher = home_ / "pages/teacher";
    std::size_t pages = 0;
    for (const auto& entry : fs::directory_iterator(students)) {
        ++pages;
        EXPECT_THAT(answers_in(text_of(entry.path()), students, answers), testing::IsEmpty()) << entry.path();
    }
    EXPECT_EQ(pages, 8u) << "an index, a quiz, and three for each lesson";
    for (const char* page : {"index.html", "quiz.html"})
        EXPECT_THAT(answers_in(text_of(teacher / page), teacher, answers), Not(testing::IsEmpty())) << page;
    std::size_t lines = 0;
    for (const auto& lesson : answers) {
        const std::string text = text_of(teacher / (lesson["case"].get<std::string>() + ".answers.html"));
        lines += text.find(lesson["title"].get<std::string>()) != std::string::npos ? 1 : 0;
        EXPECT_TRUE(fs::exists(teacher / (lesson["case"].get<std::string>() + ".replay.html")));
    }
    EXPECT_EQ(lines, 2u);
}

using DeviceLearnPages = LearnAtHome;

TEST_F(DeviceLearnPages, OpenInABrowserAndPrintWithNothingCutOff) {
    const std::string pages = (home_ / "pages").string();
    ASSERT_EQ(learn("--course --html " + pages).code, 0);
    ASSERT_EQ(learn("memory --quiz 2 --seed 42 --html " + pages).code, 0);
    const Answer checked =
        shell("python3 '" DEADRANK_SOURCE_DIRECTORY "/tests/browser/check_lessons.py' '" + pages + "'");
    if (checked.code == 77) GTEST_SKIP() << checked.out;
    EXPECT_EQ(checked.code, 0) << checked.out;
    const Answer pictures =
        shell("python3 '" DEADRANK_SOURCE_DIRECTORY "/tests/browser/course_pictures.py' '" + pages + "'");
    EXPECT_EQ(pictures.code, 0) << pictures.out;
}

// ── All lessons: each is played, read as a learner would read it, and checked for what must not be there yet.

// "rank_divergent_control_flow" and "rank divergent control flow".
std::vector<std::string> spellings(const std::string& id) {
    std::string words = id;
    std::replace(words.begin(), words.end(), '_', ' ');
    return {id, words};
}

// Everything of a lesson that is shown before the answer: text in a terminal, pages, names of files. The choices
// name the cause among three others, so they are left out.
std::string before_the_answer(Lesson lesson) {
    for (Challenge& challenge : lesson.challenges) challenge.choices.clear();
    std::string text = learn::opening_text(lesson, {});
    for (const Challenge& challenge : lesson.challenges) text += learn::challenge_text(challenge, {});
    for (const std::string& hint : lesson.hints) text += hint + "\n";
    text += learn::lesson_page(lesson) + learn::question_sheet(lesson) + learn::quiz_page({lesson}, 1) +
            learn::index_page({lesson});
    const std::string run = lesson.run_page;  // its data, without the scripts, which are the same for all runs
    const std::size_t data = run.find("id=\"data\">");
    if (data != std::string::npos) text += run.substr(data, run.find("</script>", data) - data);
    return text;
}

// What is told too early: class, cause, kind of fault, name of the scenario, or the rank in an accusing sentence.
std::vector<std::string> told_too_early(const Lesson& lesson, const scenarios::Scenario& scenario,
                                        const scenarios::Taxonomy& taxonomy) {
    const std::string text = results::lowered(before_the_answer(lesson));
    std::vector<std::string> words = spellings(scenario.id.substr(scenario.id.find('/') + 1));
    const auto add = [&](const std::string& id) {
        for (const std::string& one : spellings(id)) words.push_back(one);
    };
    add(scenario.bug.cause);
    words.push_back(scenario.bug.symptom);  // its name may be seen: NCCL prints "collective mismatch error"
    for (const auto& fault : scenario.faults) add(fault.kind);
    if (const auto* cause = scenarios::find(taxonomy.causes, scenario.bug.cause))
        words.push_back(results::lowered(cause->name));
    for (const auto& one : taxonomy.classes) {
        if (results::has(one.causes, scenario.bug.cause) && results::has(one.symptoms, scenario.bug.symptom)) add(one.id);
    }
    if (!scenario.teach.title.empty()) words.push_back(">" + results::lowered(scenario.teach.title) + "<");
    std::vector<std::string> told;
    for (const std::string& word : words) {
        if (text.find(word) != std::string::npos) told.push_back(word);
    }
    static const std::regex accusing(
        "(at fault|to blame|blames|culprit|guilty|caused by)[^.\n<]{0,40}(rank|node)s? [0-9]|"
        "(rank|node)s? [0-9,-]+[^.\n<]{0,20} (is|are) (at fault|to blame|guilty|the culprit)");
    std::smatch match;
    std::string near;  // the expression is slow on long lines: only around words that it begins or ends with
    for (const char* word : {"fault", "blame", "culprit", "guilty", "caused by"}) {
        for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
            near = text.substr(at < 80 ? 0 : at - 80, 160);
            if (std::regex_search(near, match, accusing)) told.push_back(match.str());
        }
    }
    return told;
}

TEST(LessonBeforeItsAnswer, IsFoundTellingIfItTells) {
    const School school;
    const auto scenario = scenarios::load(learning_data / "catalog/communication/rank_leaves_all_reduce.toml",
                                          school.taxonomy, school.vocabulary);
    ASSERT_TRUE(scenario);
    const Lesson good = school.lesson("communication/rank_leaves_all_reduce");
    EXPECT_THAT(told_too_early(good, *scenario, school.taxonomy), testing::IsEmpty());
    const auto with = [&](auto change) {
        Lesson bad = good;
        change(bad);
        return told_too_early(bad, *scenario, school.taxonomy);
    };
    EXPECT_FALSE(with([](Lesson& one) { one.number = "rank_leaves_all_reduce"; }).empty()) << "file name";
    EXPECT_FALSE(with([](Lesson& one) { one.clues[0].title = "kill_rank at step 3"; }).empty()) << "fault";
    EXPECT_FALSE(with([](Lesson& one) { one.sees = "An unpropagated rank failure."; }).empty()) << "cause";
    EXPECT_FALSE(with([](Lesson& one) { one.hints[0] = "Rank 0 is to blame."; }).empty()) << "rank";
    EXPECT_FALSE(with([](Lesson& one) { one.run_page = "id=\"data\">collective_deadlock_hang</script>"; }).empty())
        << "page of the run";
    EXPECT_FALSE(with([](Lesson& one) { one.number = one.title; }).empty()) << "heading";
}

TEST(LessonStory, IsFoundClaimingWhatTheLessonDoesNotShow) {
    Lesson lesson = School().lesson("communication/rank_leaves_all_reduce");
    const auto unseen = [&](const std::string& sees) {
        lesson.sees = sees;
        return find_unseen(lesson).size();
    };
    EXPECT_EQ(unseen("The job hangs. Seven ranks wait."), 0u);
    EXPECT_EQ(unseen("The job hangs. nvidia-smi hangs on one node."), 1u);
    EXPECT_EQ(unseen("It gets slower every afternoon. Three ranks wait."), 2u);
    EXPECT_EQ(unseen("'CUDA out of memory' on all ranks."), 1u);
    EXPECT_EQ(unseen("All is quiet in the house."), 1u) << "what no test knows is not said to be seen";
}

// A healthy run of a job whose description and whose clues' titles have the words of many claims.
Lesson healthy_lesson() {
    Lesson lesson;
    lesson.job =
        "8 ranks on 2 nodes, workload checkpointed_requests, load, save, group, store, restart, memory, "
        "error";
    lesson.watched =
        "a watchdog bounds each collective; torchrun starts the ranks and ends all of them when one fails";
    lesson.seen = {"The job ended after 733 ms with exit code 0.", "No process has exited."};
    lesson.clues = {
        {"733 ms of it, then its end   ░ work  █ waiting in a call  ! in a call without end  × exited",
         {"ranks 0-7  █░░█░░"}},
        {"what each rank did last", {"ranks 0-7  step 11  all_reduce 37 of world (1 f32, sum), completed"}},
        {"loss by step (* ranks print different values)",
         {"this run          0.5  0.4", "the last good run 0.5  0.4"}},
        {"the program, as every rank ran it",
         {"  2  import torch", "  3  dist.init_process_group(\"nccl\")", "  4  loss = model(batch.cuda())"}}};
    return lesson;
}

TEST(LessonStory, IsBorneOutByLinesOfCluesAlone) {
    for (const ClaimExample& example : claim_examples()) {
        Lesson lesson = healthy_lesson();
        lesson.sees = example.sentence;
        EXPECT_EQ(find_unseen(lesson).size(), 1u) << example.sentence;
        if (example.title.empty()) continue;
        if (example.title == "run")
            lesson.seen.push_back(example.line);
        else
            lesson.clues.push_back({example.title, {example.line}});
        for (const Unseen& one : find_unseen(lesson)) ADD_FAILURE() << one.sentence << " (" << one.why << ")";
    }
}

// "38.5 GiB of 24.0 GiB".
std::vector<std::string> impossible_numbers(const Lesson& lesson) {
    static const std::regex used("([0-9.]+) GiB of ([0-9.]+) GiB");
    std::vector<std::string> found;
    for (const auto& clue : lesson.clues) {
        for (const std::string& line : clue.lines) {
            for (std::sregex_iterator at(line.begin(), line.end(), used), end; at != end; ++at)
                if (std::stod((*at)[1]) > std::stod((*at)[2])) found.push_back(line);
        }
    }
    return found;
}

// The ranks that have a row of their own in the table of last calls.
std::vector<std::string> lone_ranks(const Lesson& lesson) {
    std::vector<std::string> lone;
    for (const auto& clue : lesson.clues) {
        if (clue.title != "what each rank did last") continue;
        for (const std::string& line : clue.lines) {
            std::smatch match;
            if (std::regex_search(line, match, std::regex("^rank ([0-9]+) "))) lone.push_back(match[1]);
        }
    }
    return lone;
}

// Rows of ranks in one table that say the same: the reader cannot see why they are two.
std::vector<std::string> equal_rows(const Lesson& lesson) {
    std::vector<std::string> equal;
    for (const auto& clue : lesson.clues) {
        std::set<std::string> seen;
        for (const std::string& line : clue.lines) {
            std::smatch match;
            static const std::regex row("^ranks? [0-9,…-]+ +(.*)$");
            if (std::regex_match(line, match, row) && !seen.insert(match[1]).second)
                equal.push_back(clue.title + ": " + line);
        }
    }
    return equal;
}

TEST(Lesson, HasOneRowForRanksThatDidTheSame) {
    const Lesson leak = School().lesson("memory/device_memory_leaks_on_one_rank");
    EXPECT_THAT(all_clues(leak), HasSubstr("ranks 0-15  step 11")) << "they differ in memory alone";
    EXPECT_EQ(lone_ranks(School().lesson("communication/rank_leaves_all_reduce")).size(), 1u);
    for (const char* id : {"fault_tolerance/stale_marker_from_network_cache",
                           "fault_tolerance/torn_marker_means_no_checkpoint",
                           "scheduling/slower_than_measured_elsewhere_from_the_first_step"})
        EXPECT_THAT(equal_rows(School().lesson(id)), testing::IsEmpty())
            << "ranks that only the picture parts";
}

// What a question asks for that nothing grades: it would be answered, and no answer would be right or wrong.
std::vector<std::string> asked_and_not_graded(const Lesson& lesson) {
    static const std::regex who(
        R"(\bwhich (one|(one )?of the ranks|ranks?|process(es)?|nodes?|machines?|hosts?)\b|\bwhom?\b)"),
        step(R"(\bwhich steps?\b|\bsince when\b)"), number(R"(\bhow many\b)");
    const std::string question = results::lowered(lesson.question);
    const auto graded = [&](auto asks) {
        return std::any_of(lesson.challenges.begin(), lesson.challenges.end(), [&](const Challenge& one) {
            return one.choices.empty() && asks(results::lowered(one.asks));
        });
    };
    const auto about = [](const char* word) {
        return [word](const std::string& asks) { return asks.find(word) != std::string::npos; };
    };
    std::vector<std::string> missing;
    if (std::regex_search(question, who) && !graded(about("rank")) && !graded(about("node")))
        missing.push_back("who");
    if (std::regex_search(question, step) && !graded(about("step"))) missing.push_back("step");
    if (std::regex_search(question, number) && !graded(about("how many"))) missing.push_back("how many");
    return missing;
}

TEST(LessonQuestion, IsFoundAskingForWhatNothingGrades) {
    Lesson lesson = School().lesson("communication/rank_leaves_all_reduce");
    EXPECT_THAT(asked_and_not_graded(lesson), testing::IsEmpty());
    lesson.question = "How many ranks are there?";
    EXPECT_THAT(asked_and_not_graded(lesson), testing::ElementsAre("how many"));
    lesson.question = "Who did not come, since which step?";
    lesson.challenges.erase(lesson.challenges.begin(), lesson.challenges.begin() + 2);
    EXPECT_THAT(asked_and_not_graded(lesson), testing::ElementsAre("who", "step"));
}

// Every scenario that is added is a lesson, with something to see and something to answer.
TEST(SlowLearn, MakesALessonOfEveryScenario) {
    const School school;
    auto catalog = scenarios::load_catalog(learning_data / "catalog", school.taxonomy, school.vocabulary);
    ASSERT_TRUE(catalog);
    std::map<std::string, std::string> numbers;
    int alone = 0, blamed = 0;
    for (const auto& scenario : catalog->scenarios) {
        SCOPED_TRACE(scenario.id);
        const auto lesson = learn::lesson_on(scenario, 1, school.room, true);
        ASSERT_TRUE(lesson) << lesson.error().text();
        EXPECT_TRUE(numbers.emplace(lesson->number, scenario.id).second) << "as " << numbers[lesson->number];
        EXPECT_GE(lesson->clues.size(), 3u);
        EXPECT_FALSE(lesson->sees.empty() && lesson->reported.empty());
        EXPECT_FALSE(lesson->hints.empty());
        EXPECT_FALSE(lesson->challenges.empty());
        EXPECT_FALSE(lesson->why.empty());
        for (const Challenge& challenge : lesson->challenges) {
            if (!challenge.choices.empty()) {
                EXPECT_EQ(challenge.choices.size(), 4u);
            }
            const std::string answer = challenge.choices.empty() ? challenge.solution()
                                                                 : challenge.solution().substr(0, 1);
            EXPECT_EQ(challenge.read(answer).sense, Reply::right) << challenge.asks;
        }
        EXPECT_THAT(told_too_early(*lesson, scenario, school.taxonomy), testing::IsEmpty());
        for (const Unseen& one : find_unseen(*lesson)) ADD_FAILURE() << one.sentence << " (" << one.why << ")";
        EXPECT_THAT(impossible_numbers(*lesson), testing::IsEmpty());
        EXPECT_THAT(equal_rows(*lesson), testing::IsEmpty());
        EXPECT_THAT(asked_and_not_graded(*lesson), testing::IsEmpty()) << lesson->question;
        EXPECT_THAT(all_clues(*lesson), Not(HasSubstr("python/deadrank/")))
            << "deadrank's own module printed something";
        const auto lone = lone_ranks(*lesson);
        alone += lone.empty() ? 0 : 1;
        blamed += std::any_of(lone.begin(), lone.end(), [&](const std::string& rank) {
            return std::regex_search(lesson->culprit, std::regex("\\brank " + rank + "\\b"));
        });
    }
    // A row of one rank must be no answer: were it one nearly always, learners would stop reading what it did.
    EXPECT_LT(5 * alone, 2 * static_cast<int>(catalog->scenarios.size()))
        << alone << " lessons have a row of one rank";
    EXPECT_LT(5 * blamed, 4 * alone) << "of " << alone << " lone ranks " << blamed << " are to blame";
}

}  // namespace
}  // namespace deadrank::tests
