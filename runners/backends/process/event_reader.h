// runners/backends/process/event_reader.h — Reads lines appended to files since the last look, and turns a
// line of a hook's evidence into an event.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "results/record/event.h"

namespace deadrank::runners {

// Turns one line of a hook's evidence into an event.
// Times become relative to `started` (nanoseconds since the epoch). False if the line is truncated or of an
// unknown kind: a killed process may leave such a line.
bool read_event(std::string_view line, std::int64_t started, results::EventSink& sink);

// Reads the lines appended to files since the last look: rank logs, hook evidence.
class Follow {
public:
    // Files that a process fills through its memory have zeros behind their last line.
    enum class Fills { by_writing, through_memory };

    explicit Follow(Fills fills = Fills::by_writing) : fills_(fills) {}

    // Calls `line` for each complete new line; true if the file has grown.
    bool look(const std::filesystem::path& file, const std::function<void(std::string_view)>& line);

    // Passes on last lines that lack a newline.
    void rest(const std::function<void(const std::filesystem::path&, std::string_view)>& line);

private:
    struct State {
        std::uintmax_t at = 0;
        std::string begun;
    };
    Fills fills_;
    std::map<std::filesystem::path, State> files_;
};

}  // namespace deadrank::runners
