// runners/learn/lesson_json.cpp — An answer is what a script would type.
#include "runners/learn/lesson_json.h"

#include <nlohmann/json.hpp>

namespace deadrank::runners::learn {

using results::reports::Json;

Json lesson_json(const Lesson& lesson) {
    Json clues = Json::array(), challenges = Json::array();
    for (const auto& clue : lesson.clues) clues.push_back({{"title", clue.title}, {"lines", clue.lines}});
    for (const Challenge& challenge : lesson.challenges) {
        const std::string answer = challenge.choices.empty()
                                       ? challenge.solution()
                                       : std::string(1, static_cast<char>('a' + challenge.choice));
        challenges.push_back({{"asks", challenge.asks}, {"choices", challenge.choices}, {"answer", answer}});
    }
    return {{"id", lesson.scenario},       {"seed", lesson.seed},       {"title", lesson.title},
            {"stage", lesson.stage},       {"sees", lesson.sees},       {"clues", clues},
            {"question", lesson.question}, {"challenges", challenges},  {"hints", lesson.hints},
            {"answer", lesson.answer},     {"culprit", lesson.culprit}, {"cause", lesson.cause},
            {"fix", lesson.fix},           {"why", lesson.why}};
}

}  // namespace deadrank::runners::learn
