// tests/fuzz/snapshot_fuzz.cpp — Promise: the doctor's snapshot of a process is refused with words, or is
// written and read as the same, and any job of such processes is examined.
#include "results/preflight/examine.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(snapshot) {
    namespace preflight = results::preflight;
    static const auto knowledge =
        preflight::load_knowledge(DEADRANK_SOURCE_DIRECTORY "/results/preflight").value();
    const auto snapshot = preflight::snapshot_from_json(text, "snapshot");
    if (!snapshot) return refused(snapshot);
    const std::string written = preflight::to_json(*snapshot);
    const auto again = preflight::snapshot_from_json(written, "snapshot");
    CHECK(again && preflight::to_json(*again) == written);
    preflight::Snapshot other;
    other.environment = {{"RANK", "1"}, {"WORLD_SIZE", "2"}};
    preflight::examine({*snapshot, other}, knowledge);
    return true;
}
