// tests/support/drawn.h — Of tests that take long and look at much alike, the day draws a part.
#pragma once

#include <chrono>
#include <cstdlib>
#include <functional>
#include <string_view>

namespace deadrank::tests {

// One of `one_in` days is this test's, and every day with DEADRANK_TESTS=all.
inline bool is_drawn_today(std::string_view name, std::size_t one_in) {
    const char* which = std::getenv("DEADRANK_TESTS");
    if (which && which == std::string_view("all")) return true;
    const auto days = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()).time_since_epoch();
    return (std::hash<std::string_view>()(name) + static_cast<std::size_t>(days.count())) % one_in == 0;
}

inline constexpr const char* drawn_another_day = "another day plays it; DEADRANK_TESTS=all plays it every day";

}  // namespace deadrank::tests
