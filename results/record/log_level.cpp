// results/record/log_level.cpp — How grave a line is that a process printed.
#include "results/record/log_level.h"

#include <cctype>
#include <regex>
#include <string_view>

namespace deadrank::results {

namespace {

bool holds(const std::string& line, std::string_view words) { return line.find(words) != std::string::npos; }

}  // namespace

int log_level(const std::string& line, bool error) {
    if (!error) return 0;
    for (const std::string_view words : {"Error", "Traceback", "terminate called", "what():", "FAILED",
                                         "Signal ", "exitcode", ": error: "}) {
        if (holds(line, words)) return 2;
    }
    static const std::regex table(R"(^\s+(rank|error_file|traceback)\s*:)");  // of torchrun's failures
    if (std::regex_search(line, table)) return 2;
    return holds(line, "arning") || (line.size() > 1 && line[0] == 'W' && std::isdigit(line[1])) ? 1 : 0;
}

}  // namespace deadrank::results
