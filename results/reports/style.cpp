// results/reports/style.cpp — Columns are counted in code points, so that "µs" and "…" do not misalign a
// table.
#include "results/reports/style.h"

#include <algorithm>
#include <array>
#include <random>
#include <utility>

namespace deadrank::results::reports {

namespace {

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

// Bytes that hold the first `columns` code points.
std::size_t bytes_within(std::string_view text, std::size_t columns) {
    std::size_t at = 0;
    for (; at < text.size() && columns > 0; --columns) {
        ++at;
        while (at < text.size() && continues(text[at])) ++at;
    }
    return at;
}

}  // namespace

std::string Style::paint(Ink ink, std::string_view text) const {
    static constexpr std::array<std::string_view, 7> codes = {"", "1", "2", "32", "31", "33", "36"};
    if (!color || ink == Ink::plain || text.empty()) return std::string(text);
    return colour_mark() + std::string(codes.at(static_cast<std::size_t>(ink))) + "m" + std::string(text) +
           colour_mark() + "0m";
}

const std::string& colour_mark() {
    // Above all parameters that mean something.
    static const std::string mark =
        "\033[" + std::to_string(1'000'000'000 + std::random_device{}() % 1'000'000'000) + ";";
    return mark;
}

std::string Style::cut(std::string_view text, std::size_t columns) const {
    if (columns == 0 || columns_of(text) <= columns) return std::string(text);
    return std::string(text.substr(0, bytes_within(text, columns - 1))) + "…";
}

std::size_t columns_of(std::string_view text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
}

std::string pad_right(std::string_view text, std::size_t columns) {
    const std::size_t used = columns_of(text);
    return std::string(text) + std::string(columns > used ? columns - used : 0, ' ');
}

std::string pad_left(std::string_view text, std::size_t columns) {
    const std::size_t used = columns_of(text);
    return std::string(columns > used ? columns - used : 0, ' ') + std::string(text);
}

std::vector<std::string> wrap(std::string_view text, std::size_t columns) {
    std::vector<std::string> lines;
    std::string line;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
        const std::string_view word = text.substr(at, end - at);
        const bool fits = columns == 0 || columns_of(line) + columns_of(word) + 1 <= columns;
        if (!line.empty() && !fits) lines.push_back(std::exchange(line, {}));
        if (!word.empty()) line += (line.empty() ? "" : " ") + std::string(word);
        if (end < text.size() && text[end] == '\n') lines.push_back(std::exchange(line, {}));
        at = end + 1;
    }
    if (!line.empty() || lines.empty()) lines.push_back(line);
    return lines;
}

std::string one_line(std::string_view text) {
    std::string line(text);
    std::replace_if(
        line.begin(), line.end(), [](char c) { return c == '\n' || c == '\t' || c == '\r'; }, ' ');
    return line;
}

}  // namespace deadrank::results::reports
