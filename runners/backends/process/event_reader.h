// runners/backends/process/event_reader.h — One line of a hook's evidence as an event.
#pragma once

#include <string_view>

#include "results/record/event.h"

namespace deadrank::runners {

// Times become relative to `started` (nanoseconds since the epoch). False when the line is torn or says
// nothing we know: a killed process may leave one.
bool read_event(std::string_view line, std::int64_t started, results::EventSink& sink);

}  // namespace deadrank::runners
