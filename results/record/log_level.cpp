// results/record/log_level.cpp — How grave a line is that a process printed.
#include "results/record/log_level.h"

#include <cctype>
#include <regex>
#include <string_view>

namespace deadrank::results {

namespace {

bool holds(const std::string& line, std::string_view words) { return line.find(words) != std::string::npos; }

// "[rank3]: " stands before each line that torch prints of a failed rank.
std::string_view without_rank(std::string_view line) {
    const std::size_t end = line.find("]: ");
    return line.starts_with("[rank") && end != std::string_view::npos ? line.substr(end + 3) : line;
}

}  // namespace

bool names_exception(std::string_view line) {
    std::string_view name = line.substr(0, line.find(':'));
    if (const std::size_t dot = name.rfind('.'); dot != std::string_view::npos) name.remove_prefix(dot + 1);
    return !name.empty() && std::isupper(static_cast<unsigned char>(name[0])) &&
           name.find(' ') == std::string_view::npos && name != "SystemExit" && name != "KeyboardInterrupt";
}

int LogLevels::of_next(const std::string& line, bool error) {
    const int level = log_level(line, error);
    if (!error) return level;
    const std::string_view said = without_rank(line);
    if (said.starts_with("Traceback (most recent call last)")) {
        in_traceback_ = true;
        return level;
    }
    const bool ends = in_traceback_ && !said.empty() && said[0] != ' ';
    if (!ends) return level;
    in_traceback_ = false;
    return names_exception(said) ? 2 : level;
}

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
