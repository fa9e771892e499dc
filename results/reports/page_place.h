// results/reports/page_place.h — A page that people write, with a place in it that a command fills: between
// two lines that are comments to Markdown.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "scenarios/model/error.h"

namespace deadrank::results::reports {

struct PagePlace {
    std::string_view begin, end;
    std::string_view written_by;  // a file that opens with this line is the command's own, whole
};

// The page with `text` in its place; empty where it has no such place.
std::string in_place(std::string page, const PagePlace& place, std::string_view text);

// Into its place on a page that has one; a file of its own otherwise. Errors: io; usage (somebody's page
// without the place for it).
scenarios::Result<void> write_in_place(const std::string& text, const PagePlace& place,
                                       const std::filesystem::path& file);

// Text in a cell: nothing that Markdown would take for more.
std::string plain_cell(std::string text);

}  // namespace deadrank::results::reports
