// runners/commands/ranges.h — Bounds of options that are numbers.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <system_error>

namespace deadrank::runners::commands {

// As CLI::Range, which takes "nan" for a number between any two.
inline CLI::Validator number_between(double least, double most) {
    return CLI::Validator(
        [least, most](std::string& text) {
            double value = 0;
            const bool is_number = CLI::detail::lexical_cast(text, value);
            if (is_number && value >= least && value <= most) return std::string();
            return fmt::format("{} is no number from {} to {}", text, least, most);
        },
        "");
}

// As of an unsigned option, which takes "-1" for the largest number and an empty text for 0.
inline CLI::Validator whole_number() {
    return CLI::Validator(
        [](std::string& text) {
            std::uint64_t value = 0;
            const char* const end = text.data() + text.size();
            const auto [stop, trouble] = std::from_chars(text.data(), end, value);
            return !text.empty() && stop == end && trouble == std::errc()
                       ? std::string()
                       : "'" + text + "' is no whole number";
        },
        "");
}

}  // namespace deadrank::runners::commands
