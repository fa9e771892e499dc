// tests/fuzz/plan_fuzz.cpp — Promise: a plan that is read is written so that it is read as the same plan.
#include "scenarios/format/plan_file.h"
#include "tests/fuzz/scenario_words.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(plan) {
    const auto plan = scenarios::parse_plan(text, "plan.toml", taxonomy(), vocabulary());
    if (!plan) return refused(plan);
    check_round_trip(*plan);
    return true;
}
