// results/record/log_level.h — How grave a line is that a process printed.
#pragma once

#include <string>
#include <string_view>

namespace deadrank::results {

// 0 info, 1 warning, 2 error. `error`: the line came from stderr; what stdout prints is information.
int log_level(const std::string& line, bool error);

// Whether a line that ends a traceback names an exception: "torch._dynamo.exc.Unsupported: no such method".
// Who asks for an end by itself (SystemExit, KeyboardInterrupt) complains of nothing.
bool names_exception(std::string_view line);

// Of the lines of one process, in their order: the line that ends a traceback is an error, whatever its
// exception is called.
class LogLevels {
public:
    int of_next(const std::string& line, bool error);

private:
    bool in_traceback_ = false;
};

}  // namespace deadrank::results
