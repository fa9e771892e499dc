// results/reports/output.cpp — The one way to standard output and standard error.
#include "results/reports/output.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>

#include "results/reports/style.h"

namespace deadrank::results::reports {

namespace {

struct Letter {
    std::uint32_t code = 0;
    std::size_t bytes = 1;
    bool sound = false;
};

// The letter at the beginning of a text; not sound if the bytes are no UTF-8.
Letter first_letter(std::string_view text) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    if (byte(0) < 0x80) return {byte(0), 1, true};
    const std::size_t bytes = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
    if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < bytes) return {};
    std::uint32_t code = byte(0) & (0xffU >> (bytes + 1));
    for (std::size_t at = 1; at < bytes; ++at) {
        if ((byte(at) & 0xc0) != 0x80) return {};
        code = code << 6 | (byte(at) & 0x3fU);
    }
    constexpr std::array<std::uint32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
    if (code < least[bytes] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
    return {code, bytes, true};
}

bool is_hidden(std::uint32_t code) {
    const bool control = (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7f && code <= 0x9f);
    const bool turns = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
    return control || turns;
}

// A colour of Style at the beginning of a text, with its mark; empty if there is none.
std::string_view colour_at(std::string_view text) {
    if (!text.starts_with(colour_mark())) return {};
    return text.substr(0, text.find('m') + 1);
}

std::string shown(std::string_view text, bool colours) {
    const auto plain = [](char letter) { return (letter >= ' ' && letter < 0x7f) || letter == '\n'; };
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const auto ends =
            static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), plain) - text.begin());
        out += text.substr(0, ends);
        text.remove_prefix(ends);
        if (text.empty()) break;
        if (const std::string_view colour = colours ? colour_at(text) : ""; !colour.empty()) {
            out += "\033[";
            out += colour.substr(colour_mark().size());
            text.remove_prefix(colour.size());
            continue;
        }
        const Letter letter = first_letter(text);
        if (!letter.sound) {
            out += "\uFFFD";
        } else if (is_hidden(letter.code)) {
            out += fmt::format("\\u{:04x}", letter.code);
        } else {
            out += text.substr(0, letter.bytes);
        }
        text.remove_prefix(letter.bytes);
    }
    return out;
}

// CI services take lines that begin like this for commands to themselves.
bool commands_ci(std::string_view text) { return text.starts_with("::") || text.starts_with("##["); }

std::string without_commands(std::string text, bool at_line_start) {
    if (at_line_start && commands_ci(text)) text.insert(0, " ");
    for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) {
        if (commands_ci(std::string_view(text).substr(at + 1))) text.insert(at + 1, " ");
    }
    return text;
}

// Static, since the streams are.
std::atomic<int> lost_with = 0;
std::array<std::atomic<bool>, 2> line_begins = {true, true};  // of standard output, of standard error

}  // namespace

std::string visible(std::string_view text) { return shown(text, false); }

std::string visible_line(std::string_view text) {
    std::string line = visible(text);
    std::replace_if(
        line.begin(), line.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
    return line;
}

std::string csv_cell(std::string_view text) {
    std::string cell = visible(text);
    constexpr std::string_view formulas = "=+-@\t";
    const bool number = !cell.empty() && cell.find_first_not_of("+-.0123456789eE") == std::string::npos;
    if (!cell.empty() && !number && formulas.find(cell.front()) != std::string_view::npos)
        cell.insert(0, "'");
    for (std::size_t at = cell.find('"'); at != std::string::npos; at = cell.find('"', at + 2))
        cell.insert(at, "\"");
    return "\"" + cell + "\"";
}

std::string html_text(std::string_view text) {
    std::string html;
    for (const char letter : text) {
        switch (letter) {
            case '<':
                html += "&lt;";
                break;
            case '>':
                html += "&gt;";
                break;
            case '&':
                html += "&amp;";
                break;
            case '"':
                html += "&quot;";
                break;
            default:
                html += letter;
        }
    }
    return html;
}

void write_visible(std::FILE* stream, std::string_view text) {
    if (text.empty()) return;
    std::atomic<bool>& begins = line_begins[stream == stderr ? 1 : 0];
    write_unchanged(stream, without_commands(shown(text, true), begins.exchange(text.back() == '\n')));
}

void write_unchanged(std::FILE* stream, std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), stream) == text.size() || stream != stdout) return;
    int none = 0;
    lost_with.compare_exchange_strong(none, errno != 0 ? errno : EIO);
}

void flush_out() {
    errno = 0;
    const bool failed = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
    int none = 0;
    if (failed) lost_with.compare_exchange_strong(none, errno != 0 ? errno : EIO);
}

std::optional<int> lost_output() {
    flush_out();
    const int number = lost_with.load();
    return number == 0 ? std::nullopt : std::optional(number);
}

}  // namespace deadrank::results::reports
