// scenarios/format/json_text.cpp — Escapes and indentation.
#include "scenarios/format/json_text.h"

#include <fmt/format.h>

namespace deadrank::scenarios {

std::string json_string(std::string_view text) {
    std::string out = "\"";
    for (const char letter : text) {
        const auto code = static_cast<unsigned char>(letter);
        if (letter == '"' || letter == '\\') {
            out += '\\';
            out += letter;
        } else if (code < 0x20) {
            out += fmt::format("\\u{:04x}", code);
        } else {
            out += letter;
        }
    }
    return out + '"';
}

std::string json_object(const JsonMembers& members) {
    std::string out;
    for (const auto& [name, json] : members) out += (out.empty() ? "" : ",") + json_string(name) + ":" + json;
    return "{" + out + "}";
}

std::string json_list(const std::vector<std::string>& items) {
    std::string out;
    for (const std::string& item : items) out += (out.empty() ? "" : ",") + item;
    return "[" + out + "]";
}

std::string json_strings(const std::vector<std::string>& texts) {
    std::vector<std::string> items;
    for (const std::string& text : texts) items.push_back(json_string(text));
    return json_list(items);
}

std::string json_indented(std::string_view json) {
    std::string out;
    std::size_t depth = 0;
    bool quoted = false;
    const auto line = [&] { out += "\n" + std::string(2 * depth, ' '); };
    for (std::size_t i = 0; i < json.size(); ++i) {
        const char letter = json[i];
        if (quoted) {
            out += letter;
            if (letter == '\\') out += json[++i];
            quoted = letter != '"';
            continue;
        }
        quoted = letter == '"';
        if (letter == '}' || letter == ']') {
            --depth;
            if (i > 0 && json[i - 1] != '{' && json[i - 1] != '[') line();
        }
        out += letter;
        if (letter == ':') out += ' ';
        if (letter == '{' || letter == '[') ++depth;
        const bool filled = i + 1 < json.size() && json[i + 1] != '}' && json[i + 1] != ']';
        if (letter == ',' || ((letter == '{' || letter == '[') && filled)) line();
    }
    return out + "\n";
}

}  // namespace deadrank::scenarios
