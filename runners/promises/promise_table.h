// runners/promises/promise_table.h — The table of promises as Markdown and as a page of its own, the command
// behind each cell.
#pragma once

#include <string>
#include <vector>

#include "runners/promises/promise_file.h"
#include "runners/promises/promise_verdict.h"

namespace deadrank::runners::promises {

struct PromiseTable {
    const PromiseBook* book = nullptr;
    std::vector<const PromiseSubject*> subjects;
    std::vector<PromiseCell> cells;
    std::vector<std::string> notes;  // what could not be played, and why
};

std::string promise_markdown(const PromiseTable& table);
std::string promise_page(const PromiseTable& table);  // HTML, no network needed
std::string promise_line(const PromiseCell& cell);    // JSON, ends with a newline

}  // namespace deadrank::runners::promises
