// tests/fuzz/manifest_fuzz.cpp — Promise: a manifest is refused with words, or has a name and a command.
#include "runners/backends/local/manifest.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(manifest) {
    const auto manifest = runners::parse_manifest(text, "fuzz.toml");
    if (!manifest) return refused(manifest);
    CHECK(!manifest->command.empty());
    return true;
}
