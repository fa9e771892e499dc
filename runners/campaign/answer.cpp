// runners/campaign/answer.cpp — The fields are those of a line of `run --json`.
#include "runners/campaign/answer.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "results/reports/verdict_json.h"

namespace deadrank::runners::scale {

using nlohmann::ordered_json;

namespace {

std::string text_or_empty(const ordered_json& value) {
    return value.is_string() ? value.get<std::string>() : std::string();
}

}  // namespace

Answer answer_of(std::uint64_t number, const results::Case& outcome) {
    const ordered_json line = ordered_json::parse(results::reports::json_line(outcome));
    Answer answer{.number = number, .scenario = outcome.scenario, .seed = outcome.seed};
    answer.verdict = text_or_empty(line.at("verdict"));
    answer.reason = text_or_empty(line.at("reason"));
    answer.control = text_or_empty(line.at("control"));
    answer.healed = text_or_empty(line.at("healed"));
    answer.findings = line.at("findings").dump();
    answer.trace_hash = text_or_empty(line.at("trace_hash"));
    answer.token = text_or_empty(line.at("token"));
    answer.seconds = outcome.seconds;
    return answer;
}

std::string text_of(const Answer& answer) {
    return ordered_json{answer.number,     answer.scenario, answer.seed,   answer.verdict,
                        answer.reason,     answer.control,  answer.healed, answer.findings,
                        answer.trace_hash, answer.token,    answer.seconds}
        .dump();
}

std::optional<Answer> answer_from(const std::string& text) {
    const auto fields = nlohmann::json::parse(text, nullptr, false);
    if (!fields.is_array() || fields.size() != 11) return std::nullopt;
    try {
        Answer answer;
        answer.number = fields[0].get<std::uint64_t>();
        answer.scenario = fields[1].get<std::string>();
        answer.seed = fields[2].get<std::uint64_t>();
        answer.verdict = fields[3].get<std::string>();
        answer.reason = fields[4].get<std::string>();
        answer.control = fields[5].get<std::string>();
        answer.healed = fields[6].get<std::string>();
        answer.findings = fields[7].get<std::string>();
        answer.trace_hash = fields[8].get<std::string>();
        answer.token = fields[9].get<std::string>();
        answer.seconds = fields[10].get<double>();
        return answer;
    } catch (const nlohmann::json::exception&) {
        return std::nullopt;
    }
}

Answer answer_of(const Ended& ended, const std::string& scenario, std::uint64_t seed) {
    if (ended.well()) {
        if (auto answer = answer_from(ended.answer)) return *answer;
    }
    Answer none{.number = ended.number, .scenario = scenario, .seed = seed};
    none.verdict = results::name_of(results::Verdict::unknown);
    none.findings = "[]";
    none.seconds = ended.seconds;
    if (ended.over_budget) {
        none.reason = "the trial was still running when its time was up, and was ended";
    } else if (ended.signal != 0) {
        none.reason = fmt::format("the trial's process was ended by signal {}", ended.signal);
    } else if (ended.code != 0) {
        none.reason = fmt::format("the trial's process failed: {}", ended.answer);
    } else {
        none.reason = "the trial's process left no answer that can be read";
    }
    return none;
}

}  // namespace deadrank::runners::scale
