// tests/fuzz/kept_lines_fuzz.cpp — Promise: lines that earlier runs kept (standings, parity) are refused with
// words, or read.
#include "results/reports/resilience_table.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(kept_lines) {
    const MemoryFile file(text);
    const auto standings = results::reports::read_standings(file.path());
    if (!standings) return refused(standings);
    results::reports::resilience_table(*standings);
    return !standings->empty();
}
