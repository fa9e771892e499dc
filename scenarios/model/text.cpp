// scenarios/model/text.cpp — Text for people: quoting, the nearest known word, the comment that opens a file.
#include "scenarios/model/text.h"

#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <vector>

#include "scenarios/model/vocabulary.h"

namespace deadrank::scenarios {

// ── Basic strings with their escapes; a key is bare where TOML lets it.

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

// Which known word was meant: edit distance, with neighbours exchanged counted as one edit.
// Optimal string alignment (Damerau–Levenshtein without overlapping exchanges).
std::vector<std::string_view> parts_of(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(separator, at), text.size());
        parts.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return parts;
}

std::string_view trimmed(std::string_view line) {
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return {};
    return line.substr(begin, line.find_last_not_of(" \t\r") - begin + 1);
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
    for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t same = a[i - 1] == b[j - 1] ? 0 : 1;
            cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + same});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
            }
        }
    }
    return cost[a.size()][b.size()];
}

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
    constexpr std::size_t longest_word = 100;  // nothing longer is a mistyped word
    if (word.size() > longest_word) return {};
    const std::string* best = nullptr;
    std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
    for (const std::string& candidate : known) {
        const std::size_t apart = edit_distance(word, candidate);
        if (apart < best_distance && apart < std::max(word.size(), candidate.size())) {
            best = &candidate;
            best_distance = apart;
        }
    }
    return best ? *best : std::string();
}

// ── Reads comment lines until the first line that is not one.

namespace {

std::string_view trimmed_line(std::string_view line) {
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r' || line.back() == '\t'))
        line.remove_suffix(1);
    return line;
}

// "scenarios/catalog/a/b.toml", alone or before " — ".
std::string_view without_file_name(std::string_view line) {
    const auto space = std::min(line.find(' '), line.size());
    if (!line.substr(0, space).ends_with(".toml")) return line;
    std::string_view rest = trimmed_line(line.substr(space));
    for (const std::string_view dash : {"—", "-", ":"}) {
        if (rest.starts_with(dash)) return trimmed_line(rest.substr(dash.size()));
    }
    return rest;
}

}  // namespace

std::string story_of(std::string_view text) {
    std::string story;
    bool first = true;
    bool paragraph = false;
    while (!text.empty() && text.front() == '#') {
        const auto end = std::min(text.find('\n'), text.size());
        std::string_view line = trimmed_line(text.substr(1, end - 1));
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
