// inject/shims/core/line.h — One line of evidence or truth, as runners/backends/process/event_reader.cpp
// reads it:
// {"t": nanoseconds since 1970, "rank": 1, "kind": "collective.enter", …}
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "results/record/time.h"

namespace deadrank::inject::shims {

std::int64_t now();  // nanoseconds since 1970

class Line {
public:
    Line(std::string_view kind, results::Rank rank);

    Line& add(std::string_view name, std::int64_t value);
    Line& add(std::string_view name, std::string_view text);

    // Closed and with its newline.
    std::string text() const;

private:
    std::string text_;
};

}  // namespace deadrank::inject::shims
