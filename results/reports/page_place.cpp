// results/reports/page_place.cpp — What stands outside the two lines is never touched.
#include "results/reports/page_place.h"

#include <fmt/format.h>

#include "results/text/text_file.h"

namespace deadrank::results::reports {

std::string in_place(std::string page, const PagePlace& place, std::string_view text) {
    const std::size_t begin = page.find(place.begin), end = page.find(place.end);
    if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
    const std::size_t from = begin + place.begin.size();
    return page.replace(from, end - from, fmt::format("\n{}", text));
}

scenarios::Result<void> write_in_place(const std::string& text, const PagePlace& place,
                                       const std::filesystem::path& file) {
    const auto page = std::filesystem::exists(file) ? read_text(file) : scenarios::Result<std::string>("");
    if (!page) return tl::unexpected(page.error());
    if (page->empty() || page->starts_with(place.written_by)) return write_text(text, file);
    const std::string with_text = in_place(*page, place, text);
    if (!with_text.empty()) return write_text(with_text, file);
    return scenarios::refuse(
        scenarios::ErrorCode::usage,
        fmt::format("'{}' is a page of yours and has no place for the table", file.string()),
        fmt::format("add the lines {} and {}, or name another file", place.begin, place.end));
}

std::string plain_cell(std::string text) {
    for (std::size_t at = 0; (at = text.find_first_of("|<>`*_", at)) != std::string::npos; at += 2)
        text.insert(at, "\\");
    return text;
}

}  // namespace deadrank::results::reports
