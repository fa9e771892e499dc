// runners/manual/markdown.cpp — Escapes bars, which would end a cell, and angle brackets, which would be read
// as HTML.
#include "runners/manual/markdown.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace deadrank::runners::manual {

std::string cell(std::string_view text) {
    std::string safe;
    for (const char c : text) {
        if (c == '|') safe += '\\';
        if (c == '<') {
            safe += "&lt;";
        } else {
            safe += c == '\n' ? ' ' : c;
        }
    }
    return safe;
}

std::string row(const std::vector<std::string>& cells) {
    return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

std::string heading_row(const std::vector<std::string>& cells) {
    std::string dashes = "|";
    for (std::size_t i = 0; i < cells.size(); ++i) dashes += "---|";
    return row(cells) + dashes + "\n";
}

std::string quoted(const std::vector<std::string>& words) {
    return words.empty() ? "" : fmt::format("`{}`", fmt::join(words, "`, `"));
}

std::string default_text(const scenarios::Parameter& parameter) {
    if (!parameter.fallback.empty()) return fmt::format("`{}`", parameter.fallback);
    return parameter.optional ? "" : "required";
}

std::string type_text(const scenarios::Parameter& parameter) {
    return parameter.choices.empty() ? std::string(scenarios::type_name(parameter.type))
                                     : fmt::format("{}", fmt::join(parameter.choices, ", "));
}

std::string parameter_table(const std::vector<scenarios::Parameter>& parameters) {
    if (parameters.empty()) return "";
    std::string text = heading_row({"key", "type", "default", "meaning"});
    for (const scenarios::Parameter& parameter : parameters) {
        text += row({fmt::format("`{}`", parameter.name), type_text(parameter), default_text(parameter),
                     cell(parameter.what)});
    }
    return text + "\n";
}

std::string_view unstopped(std::string_view text) {
    while (text.ends_with('.')) text.remove_suffix(1);
    return text;
}

}  // namespace deadrank::runners::manual
