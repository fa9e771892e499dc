// runners/campaign/answer.h — What a campaign keeps of one trial: what every machine would answer, and beside
// it the time that it took here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "results/judging/case.h"
#include "runners/campaign/children.h"

namespace deadrank::runners::scale {

struct Answer {
    std::uint64_t number = 0;  // its place in the campaign
    std::string scenario;
    std::uint64_t seed = 1;
    std::string verdict, reason;
    std::string control, healed;  // verdicts; empty = not played
    std::string findings;         // JSON
    std::string trace_hash;       // empty = the run has none
    std::string token;
    double seconds = 0;  // wall time; no part of the answer

    bool operator==(const Answer&) const = default;
};

Answer answer_of(std::uint64_t number, const results::Case& outcome);

// One line, from process to process.
std::string text_of(const Answer& answer);
std::optional<Answer> answer_from(const std::string& text);

// What a child left: its answer, else why there is none. `scenario` and `seed` say which trial it was.
Answer answer_of(const Ended& ended, const std::string& scenario, std::uint64_t seed);

}  // namespace deadrank::runners::scale
