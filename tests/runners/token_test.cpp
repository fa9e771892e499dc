// tests/runners/token_test.cpp — Goal: a token reads back to what was written, whatever the scenario is
// called, and anything that was cut or mistyped is refused with a sentence.
#include "runners/pipeline/token.h"

#include <gtest/gtest.h>

namespace deadrank::runners {
namespace {

Token some_token() {
    return {.build = "a1b2c3d4e5f6+",
            .runner = "sim",
            .scenario = "communication/rank_leaves_all_reduce",
            .seed = 7,
            .explored = false,
            .scenario_digest = "0123abcd",
            .plan_digest = "fedc3210",
            .trace_hash = 0xdeadbeef};
}

TEST(Token, ReadsBackToWhatWasWritten) {
    const Token token = some_token();
    EXPECT_EQ(
        to_text(token),
        "dr1-a1b2c3d4e5f6+-sim-communication/rank_leaves_all_reduce-7-0123abcd-fedc3210-00000000deadbeef");
    const auto read = parse_token(to_text(token));
    ASSERT_TRUE(read.has_value()) << read.error().text();
    EXPECT_EQ(*read, token);
}

TEST(Token, KeepsAnExploredOrderAndAStrangeName) {
    Token token = some_token();
    token.explored = true;
    token.scenario = "my-own/a-b-12";
    token.seed = UINT64_MAX;
    const auto read = parse_token(to_text(token));
    ASSERT_TRUE(read.has_value()) << read.error().text();
    EXPECT_EQ(*read, token);
}

TEST(Token, RefusesWhatWasCutOrMistyped) {
    const std::string text = to_text(some_token());
    for (std::size_t length = 0; length < text.size(); ++length) {
        EXPECT_FALSE(parse_token(text.substr(0, length)).has_value()) << text.substr(0, length);
    }
    EXPECT_FALSE(parse_token("dr2" + text.substr(3)).has_value());
    EXPECT_FALSE(parse_token(text + "0").has_value());
    EXPECT_FALSE(parse_token("dr1-a-sim-x-seven-0123abcd-fedc3210-00000000deadbeef").has_value());
    const auto refused = parse_token("nonsense");
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, scenarios::ErrorCode::usage);
    EXPECT_NE(refused.error().text().find("nonsense"), std::string::npos);
}

}  // namespace
}  // namespace deadrank::runners
