// tests/fuzz/pins_fuzz.cpp — Promise: a list of pinned releases is refused with words, or is written and read
// as the same.
#include "runners/backends/releases/pins.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(pins) {
    const auto pins = runners::parse_pins(text, "pins.txt");
    if (!pins) return refused(pins);
    const auto again = runners::parse_pins(to_text(*pins), "pins.txt");
    CHECK(again && *again == *pins);
    return !pins->empty();
}
