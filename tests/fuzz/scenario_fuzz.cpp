// tests/fuzz/scenario_fuzz.cpp — Promise: a scenario is refused with words, or resolves to plans that are
// written and read as the same plans.
#include "scenarios/format/scenario_file.h"
#include "tests/fuzz/scenario_words.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(scenario) {
    const auto scenario =
        scenarios::parse_scenario(text, "catalog/communication/fuzz.toml", taxonomy(), vocabulary());
    if (!scenario) return refused(scenario);
    const scenarios::Capabilities all{.levers = {"*"}, .workloads = {"*"}, .ranks_max = 4'096};
    const auto trial = scenarios::resolve(*scenario, {1}, all, vocabulary());
    if (!trial) return refused(trial);
    check_round_trip(trial->fault);
    check_round_trip(trial->healed);
    return true;
}
