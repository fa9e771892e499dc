// tests/fuzz/evidence_fuzz.cpp — Promise: evidence is refused with words, or is written and read as the same
// events.
#include "results/record/evidence.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(evidence) {
    const MemoryFile file(text);
    const auto evidence = results::read_evidence(file.path());
    if (!evidence) return refused(evidence);
    const MemoryFile copy("");
    CHECK(results::write_evidence(*evidence, copy.path()).has_value());
    const auto again = results::read_evidence(copy.path());
    CHECK(again.has_value());
    CHECK(results::same_events(*evidence, *again));
    CHECK(evidence->observed_until() == again->observed_until());
    return true;
}
