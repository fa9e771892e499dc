// runners/pipeline/token.h — One line that identifies a run and its build exactly: enough to play it again
// and to check that it is the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "scenarios/model/plan.h"

namespace deadrank::runners {

struct Token {
    std::string build;     // commit of the program
    std::string runner;    // sim, local, …
    std::string scenario;  // id
    std::uint64_t seed = 1;
    bool explored = false;         // ties in time were broken by chance: an "x" after the seed
    std::string scenario_digest;   // first 8 hex digits
    std::string plan_digest;       // first 8 hex digits, of the run with the fault
    std::uint64_t trace_hash = 0;  // 0 = the backend has none

    bool operator==(const Token&) const = default;
};

Token token_of(const scenarios::Plan& plan, std::string_view runner, bool explored, std::uint64_t trace_hash);

std::string to_text(const Token& token);

// Error: usage, with what a token looks like.
scenarios::Result<Token> parse_token(std::string_view text);

}  // namespace deadrank::runners
