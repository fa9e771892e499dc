// results/analysis/loss_words.cpp — The loss that a line of progress prints, however the program words it.
#include "results/analysis/loss_words.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <string>

namespace deadrank::results::analysis {

namespace {

bool is_alphabetic(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// A number at the head of a text, or nan, or an infinity; nothing if a word only begins like one.
std::optional<double> number_at(std::string_view text) {
    const std::string head(text.substr(0, 32));
    char* end = nullptr;
    const double value = std::strtod(head.c_str(), &end);
    if (end == head.c_str() || is_alphabetic(*end) || *end == '_') return std::nullopt;
    return value;
}

}  // namespace

std::optional<double> loss_in(std::string_view line) {
    constexpr std::size_t name_most = 16, signs_most = 8;
    for (std::size_t at = line.find("oss"); at != line.npos; at = line.find("oss", at + 3)) {
        if (at == 0 || (line[at - 1] != 'l' && line[at - 1] != 'L')) continue;
        if (at > 1 && is_alphabetic(line[at - 2])) continue;  // glossy
        std::size_t from = at + 3;
        if (line.substr(from).starts_with("es")) from += 2;
        if (from < line.size() && is_alphabetic(line[from])) continue;  // lossy
        const std::size_t name_end = std::min(line.size(), from + name_most);
        while (from < name_end && (is_alphabetic(line[from]) || line[from] == '_' || line[from] == '/'))
            ++from;
        const std::size_t signs_end = std::min(line.size(), from + signs_most), signs = from;
        while (from < signs_end && std::string_view(" \t:='\"|>(").find(line[from]) != std::string_view::npos)
            ++from;
        if (from == signs) continue;
        if (const auto value = number_at(line.substr(from))) return value;
    }
    return std::nullopt;
}

}  // namespace deadrank::results::analysis
