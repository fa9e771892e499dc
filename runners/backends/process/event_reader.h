// runners/backends/process/event_reader.h — What files gained since the last look, and a line of a hook's
// evidence as an event.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "results/record/event.h"

namespace deadrank::runners {

// One line of a hook's evidence as an event.

// Times become relative to `started` (nanoseconds since the epoch). False when the line is torn or says
// nothing we know: a killed process may leave one.
bool read_event(std::string_view line, std::int64_t started, results::EventSink& sink);

// Reads what files gained since the last look: logs of ranks, evidence of hooks.

class Follow {
public:
    // Calls `line` for each whole line that came; true when anything did.
    bool look(const std::filesystem::path& file, const std::function<void(std::string_view)>& line);

    // What is left of lines without an end.
    void rest(const std::function<void(const std::filesystem::path&, std::string_view)>& line);

private:
    struct State {
        std::uintmax_t at = 0;
        std::string begun;
    };
    std::map<std::filesystem::path, State> files_;
};

}  // namespace deadrank::runners
