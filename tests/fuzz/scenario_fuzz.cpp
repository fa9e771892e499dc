// tests/fuzz/scenario_fuzz.cpp — The readers of scenarios and plans under libFuzzer; the suite
// SlowFuzzScenario plays the same without it.
#include "tests/fuzz/scenario_fuzz.h"

#include <cstddef>
#include <cstdint>

#include "runners/backend/extension.h"
#include "scenarios/format/taxonomy_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const auto taxonomy = deadrank::scenarios::load_taxonomy("scenarios/taxonomy.toml").value();
    static const auto vocabulary = deadrank::runners::vocabulary();
    deadrank::fuzz::read_scenario({reinterpret_cast<const char*>(data), size}, taxonomy, vocabulary);
    return 0;
}
