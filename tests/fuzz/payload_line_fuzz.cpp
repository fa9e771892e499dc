// tests/fuzz/payload_line_fuzz.cpp — Promise: a line of an observer in a real process is left out, or becomes
// an event that evidence can hold.
#include "results/record/evidence.h"
#include "results/record/payload_line.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(payload_line) {
    results::Evidence evidence;
    results::Payload payload;
    if (!results::read_payload(
            text, [&](std::string_view words) { return evidence.text(words); }, payload))
        return false;
    evidence.record({results::Time{1}, 0, payload});
    evidence.finish(results::Time{2});
    CHECK(!results::to_json_line(evidence, evidence.events().front()).empty());
    return true;
}
