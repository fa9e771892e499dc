// tests/fuzz/pager_config_fuzz.cpp — Promise: an Alertmanager configuration is refused with words, or gives
// one that is read again and reaches nobody.
#include "results/alerts/pager_config.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(pager_config) {
    const MemoryFile file(text);
    const auto config = results::alerts::read_pager_config(file.path());
    if (!config) return refused(config);
    const MemoryFile quiet(config->text);
    CHECK(results::alerts::read_pager_config(quiet.path()).has_value());
    return true;
}
