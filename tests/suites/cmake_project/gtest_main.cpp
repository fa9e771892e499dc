// tests/suites/cmake_project/gtest_main.cpp — The bridge: one line registers each scenario as a test.
#include <deadrank/runners/suites/gtest.h>

#include "token_ring.h"

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    deadrank::runners::suites::register_scenarios(
        {.scenarios = SCENARIOS, .data = DEADRANK_DATA, .extension = token_ring()}, 2);
    return RUN_ALL_TESTS();
}
