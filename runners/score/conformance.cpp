// runners/score/conformance.cpp — Each check runs the command once or twice, and reports what it did.
#include <fmt/format.h>

#include "results/record/words.h"
#include "runners/score/tools.h"

namespace deadrank::runners {

namespace {

using results::Evidence;
using results::Time;
using results::external::Answer;
using results::external::CommandDetector;
using results::external::Limits;
using AnswerResult = scenarios::Result<Answer>;

constexpr int lines_of_a_long_log = 200'000;

std::string bytes_of(const Evidence& evidence, std::string_view strange_line = {}) {
    std::string text = fmt::format(R"({{"deadrank":"evidence","version":1,"observed_until":{}}})"
                                   "\n",
                                   evidence.observed_until().count());
    text += strange_line;
    for (const results::Event& event : evidence.events()) text += to_json_line(evidence, event) + "\n";
    return text;
}

std::string with_long_log(const Evidence& evidence) {
    std::string text = bytes_of(evidence);
    for (int line = 0; line < lines_of_a_long_log; ++line) {
        text += fmt::format(
            R"({{"t":{},"rank":0,"kind":"rank.log","level":0,"line":"iteration {} of many: all is well"}})"
            "\n",
            evidence.observed_until().count(), line);
    }
    return text;
}

std::string found(const Answer& answer) {
    if (answer.findings.empty()) return "silent";
    const auto& first = answer.findings.front();
    return fmt::format("{}; first {} about {}", results::counted(answer.findings.size(), "finding"),
                       first.symptom, first.blame.text());
}

ConformanceCheck answered(std::string name, const AnswerResult& asked) {
    if (!asked) return {std::move(name), false, asked.error().text()};
    return {std::move(name), true, found(*asked)};
}

ConformanceCheck silent(std::string name, const AnswerResult& asked) {
    ConformanceCheck check = answered(std::move(name), asked);
    check.passed = asked && asked->findings.empty();
    return check;
}

ConformanceCheck same(std::string name, const AnswerResult& first, const AnswerResult& second) {
    ConformanceCheck check = answered(std::move(name), second);
    if (!first || !second) return {check.name, false, "there are no two answers to compare"};
    check.passed = first->findings == second->findings;
    if (!check.passed) check.says = fmt::format("first {}; then {}", found(*first), found(*second));
    return check;
}

}  // namespace

std::vector<ConformanceCheck> check_conformance(const CommandDetector& detector,
                                                const ConformanceMaterial& material) {
    const Evidence& healthy = *material.healthy;
    const Evidence& faulty = *material.faulty;
    const Limits healthy_limits{material.symptoms, healthy.world_size(), healthy.observed_until()};
    const Limits faulty_limits{material.symptoms, faulty.world_size(), faulty.observed_until()};
    std::vector<ConformanceCheck> checks;
    const AnswerResult nothing = detector.analyse(Evidence{});
    checks.push_back(silent("a run without events: it ends well, and is silent", nothing));
    checks.push_back(silent("a healthy job: silent", detector.analyse(healthy)));
    const AnswerResult first = detector.analyse(faulty);
    checks.push_back(answered("a job that hangs: it ends well, with findings or without", first));
    checks.push_back(same("the same evidence again: the same findings", first, detector.analyse(faulty)));
    const std::string strange = R"({"t":0,"rank":0,"kind":"kind.of.the.future","field":[1,{"a":null}]})"
                                "\n";
    checks.push_back(same("an event of a kind unknown to it: the same findings", first,
                          detector.analyse_bytes(bytes_of(faulty, strange), faulty_limits)));
    checks.push_back(silent(fmt::format("{} lines of log: in time, and silent", lines_of_a_long_log),
                            detector.analyse_bytes(with_long_log(healthy), healthy_limits)));
    return checks;
}

}  // namespace deadrank::runners
