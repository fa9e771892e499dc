// runners/commands/screen.h — What stands at the other end of a stream: a terminal with a width and colours,
// or a pipe.
#pragma once

#include <cstdio>
#include <string_view>

#include "results/text/style.h"

namespace deadrank::runners::commands {

// Colour on a terminal unless NO_COLOR is set; a pipe has neither colour nor a width.
results::reports::Style style_of(std::FILE* stream);

// A line that is written over itself, on standard error and on a terminal only.
class Progress {
public:
    Progress();
    ~Progress();
    void show(std::string_view line);
    void clear();  // before anything else is printed

private:
    bool terminal_;
    bool shown_ = false;
    results::reports::Style style_;
};

}  // namespace deadrank::runners::commands
