// runners/manual/manual_pages.h — The manual as pages, written from the tables that the program itself works
// with: docs/ holds them, and a test holds docs/ to them.
#pragma once

#include <string>
#include <vector>

#include "runners/line/library.h"

namespace deadrank::runners::manual {

struct Page {
    std::string path;   // below the directory of the manual: "workloads/zero.md"
    std::string title;  // as the index calls it
    std::string text;
};

// What a scenario may say and what a run does, in the order in which one reads it. The index comes first, and
// names `more` as well. Some pages play a run.
std::vector<Page> pages_of(const Library& library, const std::vector<Page>& more);

}  // namespace deadrank::runners::manual
