// tests/fuzz/log_text.h — A log as `diagnose` reads it.
#pragma once

#include "results/importers/incident_log.h"
#include "tests/fuzz/memory_file.h"

namespace deadrank::fuzz {

struct LogText {
    std::string kind;  // "NCCL log", …; "text" when no line was recognised
    results::Evidence evidence;
};

// Promise: any bytes become evidence.
inline LogText read_log_text(std::string_view text, const results::importers::LogPlace& place) {
    const MemoryFile file(text);
    auto source = results::importers::TextSource::open(file.path());
    CHECK(source.has_value());
    results::importers::Story story;
    std::string kind = results::importers::read_log(**source, place, story, [](std::int64_t) {});
    CHECK(!kind.empty());
    return {std::move(kind), std::move(story.finish({}).evidence)};
}

}  // namespace deadrank::fuzz
