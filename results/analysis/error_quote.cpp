// results/analysis/error_quote.cpp — What to quote of an error's text.
#include "results/analysis/error_quote.h"

#include <algorithm>

namespace deadrank::results::analysis {

namespace {

constexpr std::size_t quoted_max = 320;
constexpr std::string_view cut = "…";

// The library's own account of what failed, where the text has one.
std::string_view last_error_in(std::string_view text) {
    constexpr std::string_view words = "\nLast error:\n";
    const auto at = text.find(words);
    if (at == std::string_view::npos) return {};
    const std::string_view rest = text.substr(at + words.size());
    return rest.substr(0, rest.find('\n'));
}

std::string_view trimmed(std::string_view text) {
    const auto idle = [](char c) { return c == ' ' || c == ',' || c == '\n'; };
    while (!text.empty() && idle(text.back())) text.remove_suffix(1);
    return text;
}

}  // namespace

std::string_view find_key_line(std::string_view text) {
    while (text.ends_with('\n')) text.remove_suffix(1);
    if (text.starts_with("Traceback")) {
        if (const auto second = text.find('\n'); second != std::string_view::npos) {
            const auto last = text.rfind('\n');
            // Frames are indented; the exception itself is not, and may continue over further lines.
            std::size_t line = second + 1;
            while (line < text.size() && text[line] == ' ') {
                const auto next = text.find('\n', line);
                if (next == std::string_view::npos) break;
                line = next + 1;
            }
            text = text.substr(std::min(line, last + 1));
        }
    }
    return text.substr(0, text.find('\n'));
}

std::string shorten_text(std::string_view text, std::size_t most) {
    if (text.size() <= most) return std::string(text);
    std::size_t end = most - std::min(most, cut.size() + 1);
    const auto space = text.rfind(' ', end);
    if (space != std::string_view::npos && space > most / 2) {
        return std::string(trimmed(text.substr(0, space))) + " " + std::string(cut);
    }
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // within a character
    return std::string(text.substr(0, end)) + std::string(cut);
}

std::string quoted(std::string_view text) {
    const std::string_view heart = find_key_line(text), last = last_error_in(text);
    if (last.empty()) return shorten_text(heart, quoted_max);
    const std::size_t room = quoted_max - std::min(last.size(), quoted_max / 2);
    return shorten_text(trimmed(heart), room) + ": " + shorten_text(last, quoted_max / 2);
}

}  // namespace deadrank::results::analysis
