// tests/support/drawn.h — Slow tests that resemble each other: each day plays some of them.
#pragma once

#include <chrono>
#include <cstdlib>
#include <functional>
#include <string_view>

namespace deadrank::tests {

// True on one day of `one_in`, and on every day with DEADRANK_TESTS=all.
inline bool is_drawn_today(std::string_view name, std::size_t one_in) {
    const char* which = std::getenv("DEADRANK_TESTS");
    if (which && which == std::string_view("all")) return true;
    const auto days =
        std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()).time_since_epoch();
    return (std::hash<std::string_view>()(name) + static_cast<std::size_t>(days.count())) % one_in == 0;
}

inline constexpr const char* drawn_another_day =
    "another day plays it; DEADRANK_TESTS=all plays it every day";

}  // namespace deadrank::tests
