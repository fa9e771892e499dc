// tests/fuzz/token_fuzz.cpp — Promise: a token that is read is written as it was, but for the case of its
// digits.
#include "runners/pipeline/token.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(token) {
    const auto token = deadrank::runners::parse_token(text);
    if (!token) return refused(token);
    const auto again = deadrank::runners::parse_token(to_text(*token));
    CHECK(again && *again == *token);
    return true;
}
