// tests/fuzz/dump_fuzz.cpp — Promise: JSON or a pickle becomes evidence as a Flight Recorder dump, as a RAS
// answer and as an error file, or is refused as having another shape.
#include <functional>
#include <nlohmann/json.hpp>

#include "results/importers/dump_reader.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(dump) {
    namespace importers = results::importers;
    using Json = nlohmann::json;
    const auto tree =
        importers::looks_like_pickle(text) ? importers::from_pickle(text) : Json::parse(text, nullptr, false);
    if (!tree || !tree->is_object()) return false;
    const std::function<void(importers::Story&)> readers[] = {
        [&](importers::Story& story) { importers::read_dump(*tree, 3, story); },
        [&](importers::Story& story) { importers::read_ras(*tree, story); },
        [&](importers::Story& story) { importers::read_error_file(*tree, 3, story); }};
    bool accepted = false;
    for (const auto& read : readers) {
        importers::Story story;
        try {
            read(story);
        } catch (const Json::exception&) {
            continue;
        }
        story.finish({});
        accepted = true;
    }
    return accepted;
}
