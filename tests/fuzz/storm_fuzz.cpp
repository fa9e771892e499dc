// tests/fuzz/storm_fuzz.cpp — Promise: a table of incidents is refused with words, or gives incidents in
// order of time and within its budget.
#include "scenarios/format/storm_file.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/scenario_words.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(storm) {
    const MemoryFile file(text);
    const auto storm = scenarios::load_storm(file.path(), taxonomy());
    if (!storm) return refused(storm);
    const auto incidents = scenarios::draw_incidents(*storm, 1);
    CHECK(std::ssize(incidents) <= storm->budget);
    for (std::size_t i = 1; i < incidents.size(); ++i) CHECK(incidents[i - 1].at <= incidents[i].at);
    return true;
}
