// scenarios/model/pattern.cpp — A search is one match of the whole text, so that it does not begin anew at
// each letter.
#include "scenarios/model/pattern.h"

#include <algorithm>
#include <cstdlib>

namespace deadrank::scenarios {

namespace {

constexpr auto without_going_back = std::regex::ECMAScript | std::regex_constants::__polynomial;
constexpr std::size_t pattern_bytes_most = 16'384, line_bytes_most = 4'096;
constexpr double repeats_most = 1'000;

// The product of the largest counts of all `{n,m}`: the library writes the part down so often.
double count_copies(const std::string& text) {
    double copies = 1;
    for (std::size_t at = text.find('{'); at != text.npos; at = text.find('{', at + 1)) {
        const std::size_t close = text.find_first_not_of("0123456789,", at + 1);
        if (close == text.npos || text[close] != '}' || (at > 0 && text[at - 1] == '\\')) continue;
        const std::string counts = text.substr(at + 1, close - at - 1);
        const std::size_t comma = counts.find(',');
        const double least = std::atof(counts.c_str());
        const double most = comma == counts.npos ? least : std::atof(counts.c_str() + comma + 1);
        copies *= std::max({1.0, least, most});
    }
    return copies;
}

Result<std::regex> read_regex(const std::string& pattern) {
    if (pattern.size() > pattern_bytes_most) return refuse(ErrorCode::bad_input, "it has more than 16 KiB");
    if (count_copies(pattern) > repeats_most)
        return refuse(ErrorCode::bad_input, "its counted repetitions make more than 1,000 copies");
    try {
        return std::regex(pattern, without_going_back);
    } catch (const std::regex_error& wrong) {
        return refuse(ErrorCode::bad_input, wrong.what());
    }
}

}  // namespace

Result<Pattern> Pattern::of_text(const std::string& pattern) {
    auto regex = read_regex(pattern);
    if (!regex) return tl::unexpected(regex.error());
    Pattern read;
    read.regex_ = std::move(*regex);
    return read;
}

Result<Pattern> Pattern::of_part(const std::string& pattern) {
    if (const auto alone = read_regex(pattern); !alone) return tl::unexpected(alone.error());  // "a)|(b"
    auto read = of_text("[^]*(?:" + pattern + ")[^]*");
    if (read) read->bytes_most_ = line_bytes_most;
    return read;
}

bool Pattern::fits(const std::string& text) const {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(text.size(), bytes_most_));
    return std::regex_match(text.begin(), end, regex_);
}

}  // namespace deadrank::scenarios
