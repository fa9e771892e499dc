// scenarios/model/toml_text.cpp — Basic strings with their escapes; a key is bare where TOML lets it.
#include "scenarios/model/toml_text.h"

#include <algorithm>
#include <fmt/format.h>

namespace deadrank::scenarios {

namespace {

bool is_bare(std::string_view key) {
    return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
               c == '-';
    });
}

bool is_control(char letter) { return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f; }

}  // namespace

std::string toml_text(std::string_view text) {
    std::string out = "\"";
    for (const char letter : text) {
        if (letter == '"' || letter == '\\') {
            out += '\\';
            out += letter;
        } else if (letter == '\n') {
            out += "\\n";
        } else if (letter == '\t') {
            out += "\\t";
        } else if (is_control(letter)) {
            out += fmt::format("\\u{:04X}", static_cast<unsigned char>(letter));
        } else {
            out += letter;
        }
    }
    return out + '"';
}

std::string toml_list(const std::vector<std::string>& texts) {
    std::string out;
    for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + toml_text(text);
    return "[" + out + "]";
}

std::string toml_table(const std::map<std::string, std::string>& members) {
    std::string out;
    for (const auto& [key, text] : members) {
        out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", is_bare(key) ? key : toml_text(key),
                           toml_text(text));
    }
    return out.empty() ? "{}" : "{ " + out + " }";
}

std::string in_one_line(std::string_view text) {
    std::string out(text);
    std::replace_if(out.begin(), out.end(), is_control, ' ');
    return out;
}

}  // namespace deadrank::scenarios
