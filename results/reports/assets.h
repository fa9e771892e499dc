// results/reports/assets.h — The hand-written parts of the page, embedded when the program is built.
#pragma once

#include <string_view>

namespace deadrank::results::reports {

// By file name in results/reports/html: "page.html", "timeline.js"; empty when there is none.
std::string_view asset(std::string_view name);

}  // namespace deadrank::results::reports
