// results/record/sources.h — Which source each kind of event has on a real job, in one table: detectors are
// scored by it, and the manual prints it.
#pragma once

#include <string_view>
#include <vector>

#include "results/record/evidence.h"

namespace deadrank::results {

// In order of what they demand: files that any job leaves, a hook of ours, a check by the program.
enum class Source {
    plain,     // logs, exit codes, kernel log, Flight Recorder, metrics
    observed,  // our hook in an unmodified program
    asserted   // a check that the program makes of itself, computed apart from what it checks
};
inline constexpr Source all_sources[] = {Source::plain, Source::observed, Source::asserted};

std::string_view name_of(Source source);

struct KindSource {
    std::string_view kind;  // of event
    Source source;
    std::string_view from;  // where a real job gets it
};
const std::vector<KindSource>& kind_sources();  // every kind once, sorted by name

// Of one event: a logged value is plain, or asserted if a definition stands beside it.
Source source_of(const Event& event);

// The same evidence, limited to `most` and the sources before it. Not const, because it adds a text to
// `evidence`.
Evidence limited_to(Evidence& evidence, Source most);

}  // namespace deadrank::results
