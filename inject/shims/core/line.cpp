// inject/shims/core/line.cpp — Written by hand: this runs inside somebody's training step.
#include "inject/shims/core/line.h"

#include <chrono>

namespace deadrank::inject::shims {

namespace {

void append_quoted(std::string& out, std::string_view text) {
    constexpr char digits[] = "0123456789abcdef";
    out += '"';
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (byte < 0x20 || byte >= 0x7f) {  // foreign bytes become a mark: the line stays valid JSON
            if (byte >= 0x7f) {
                out += '?';
            } else {
                out += "\\u00";
                out += digits[byte >> 4];
                out += digits[byte & 15];
            }
        } else {
            out += c;
        }
    }
    out += '"';
}

}  // namespace

std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

Line::Line(std::string_view kind, results::Rank rank) {
    text_.reserve(192);
    text_ += "{\"t\": ";
    text_ += std::to_string(now());
    add("rank", static_cast<std::int64_t>(rank));
    add("kind", kind);
}

Line& Line::add(std::string_view name, std::int64_t value) {
    text_ += ", ";
    append_quoted(text_, name);
    text_ += ": ";
    text_ += std::to_string(value);
    return *this;
}

Line& Line::add(std::string_view name, std::string_view text) {
    text_ += ", ";
    append_quoted(text_, name);
    text_ += ": ";
    append_quoted(text_, text);
    return *this;
}

std::string Line::text() const { return text_ + "}\n"; }

}  // namespace deadrank::inject::shims
