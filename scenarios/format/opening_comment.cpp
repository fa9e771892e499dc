// scenarios/format/opening_comment.cpp — Finds the story of a scenario in its opening comment.
#include "scenarios/format/opening_comment.h"

#include <algorithm>

#include "scenarios/model/text.h"

namespace deadrank::scenarios {

namespace {

// "scenarios/catalog/a/b.toml", alone or before " — ".
std::string_view without_file_name(std::string_view line) {
    const auto space = std::min(line.find(' '), line.size());
    if (!line.substr(0, space).ends_with(".toml")) return line;
    std::string_view rest = trimmed(line.substr(space));
    for (const std::string_view dash : {"—", "-", ":"}) {
        if (rest.starts_with(dash)) return trimmed(rest.substr(dash.size()));
    }
    return rest;
}

}  // namespace

// Reads comment lines until the first line that is not one.
std::string story_of(std::string_view text) {
    std::string story;
    bool first = true;
    bool paragraph = false;
    while (!text.empty() && text.front() == '#') {
        const auto end = std::min(text.find('\n'), text.size());
        std::string_view line = trimmed(text.substr(1, end - 1));
        if (first) line = without_file_name(line);
        first = false;
        if (line.empty()) {
            paragraph = !story.empty();
        } else {
            if (!story.empty()) story += paragraph ? "\n\n" : " ";
            story += line;
            paragraph = false;
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return story;
}

}  // namespace deadrank::scenarios
