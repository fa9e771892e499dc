// results/exporters/toml_file.cpp — Durations are written as Prometheus writes them.
#include "results/exporters/toml_file.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "scenarios/model/vocabulary.h"

namespace deadrank::results::exporters {

scenarios::Result<scenarios::Node> read_toml(const std::filesystem::path& file) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(file, ignored)) {
        return scenarios::refuse(scenarios::ErrorCode::io, "there is no file '" + file.string() + "'");
    }
    const auto text = scenarios::read_text(file);
    if (!text) return tl::unexpected(text.error());
    return scenarios::parse_document(*text, file.string());
}

double seconds_of(std::string_view duration) {
    double total = 0;
    std::size_t at = 0;
    if (duration.empty()) return -1;
    while (at < duration.size()) {
        std::size_t digits = at;
        while (digits < duration.size() && (std::isdigit(static_cast<unsigned char>(duration[digits])) != 0))
            ++digits;
        if (digits == at || digits - at > 9) return -1;
        const double number = std::stod(std::string(duration.substr(at, digits - at)));
        std::size_t end = digits;
        while (end < duration.size() && (std::isalpha(static_cast<unsigned char>(duration[end])) != 0)) ++end;
        const std::string_view unit = duration.substr(digits, end - digits);
        if (unit == "ms")
            total += number / 1000;
        else if (unit == "s")
            total += number;
        else if (unit == "m")
            total += number * 60;
        else if (unit == "h")
            total += number * 3600;
        else if (unit == "d")
            total += number * 86400;
        else if (unit == "w")
            total += number * 7 * 86400;
        else if (unit == "y")
            total += number * 365 * 86400;
        else if (unit.empty() && number == 0)
            total += 0;  // Prometheus takes a bare 0
        else
            return -1;
        at = end;
    }
    return total;
}

std::string duration_text(double seconds) {
    if (seconds < 0) return "-" + duration_text(-seconds);
    const auto whole = static_cast<long long>(std::llround(seconds * 1000));
    if (whole == 0) return "0s";
    std::string text;
    const long long parts[] = {whole / 3'600'000, whole / 60'000 % 60, whole / 1000 % 60, whole % 1000};
    const char* units[] = {"h", "m", "s", "ms"};
    for (int i = 0; i < 4; ++i) {
        if (parts[i] != 0) text += fmt::format("{}{}", parts[i], units[i]);
    }
    return text;
}

scenarios::Result<void> check_members(const scenarios::Node& table, const std::vector<std::string>& known,
                                      const std::string& file) {
    for (const auto& [name, place, value] : table.members) {
        if (std::find(known.begin(), known.end(), name) != known.end()) continue;
        const std::string near = scenarios::nearest(name, known);
        return scenarios::refuse(scenarios::ErrorCode::bad_input, "unknown key '" + name + "'",
                                 near.empty() ? fmt::format("known are: {}", fmt::join(known, ", "))
                                              : "did you mean '" + near + "'?",
                                 {file, value.place.line, 0});
    }
    return {};
}

}  // namespace deadrank::results::exporters
