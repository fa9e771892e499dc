// runners/studies/parity_page.h — What parity found, kept as a line of JSON a scenario, counted, and written
// as a page: how many scenarios a backend can play, how many agree, and why the others do not or were not
// played.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "runners/studies/parity.h"

namespace deadrank::runners {

struct ParityPage {
    std::string backend;
    std::vector<Compared> compared;   // in order of id
    std::vector<Compared> not_tried;  // that the backend cannot play, by paper, or that nobody has tried
    std::size_t scenarios() const { return compared.size() + not_tried.size(); }
};

std::string parity_line(const Compared& one);

// Of an earlier run, which may have been killed in the middle of its last line; of two about one scenario the
// last that was played counts. A file that is not there has none. Errors: io, bad_input.
scenarios::Result<std::vector<Compared>> read_parity(const std::filesystem::path& file);

// "3 of 5: no subject …: 'serving', 'reshard'": kind of reason → what stood in its quotes, most first.
struct Reasons {
    std::string kind;
    std::size_t scenarios = 0;
    std::vector<std::string> names;
};
std::vector<Reasons> reasons_of(const ParityPage& page);

// Counts in words; a row for each kind of reason; a row for each scenario that was played. Markdown.
std::string parity_summary(const ParityPage& page);
std::string parity_table(const ParityPage& page);

// Between "<!-- parity table -->" and "<!-- end of the parity table -->", or "parity summary". Errors: io,
// usage.
scenarios::Result<void> write_parity_table(const ParityPage& page, const std::filesystem::path& file);
scenarios::Result<void> write_parity_summary(const ParityPage& page, const std::filesystem::path& file);

}  // namespace deadrank::runners
