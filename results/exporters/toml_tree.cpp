// results/exporters/toml_tree.cpp — toml++ nodes copied into plain ones; members keep the order of their
// lines.
#include "results/exporters/toml_tree.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <toml++/toml.h>

#include "scenarios/model/vocabulary.h"

namespace deadrank::results::exporters {

namespace {

TomlNode copy(const toml::node& node) {
    TomlNode out;
    out.line = static_cast<int>(node.source().begin.line);
    if (const auto* table = node.as_table()) {
        out.kind = TomlNode::Kind::table;
        for (const auto& [key, value] : *table) {
            out.members.emplace_back(std::string(key.str()), copy(value));
        }
        std::stable_sort(out.members.begin(), out.members.end(),
                         [](const auto& a, const auto& b) { return a.second.line < b.second.line; });
    } else if (const auto* array = node.as_array()) {
        out.kind = TomlNode::Kind::list;
        for (const auto& value : *array) out.items.push_back(copy(value));
    } else if (const auto text = node.value_exact<std::string>()) {
        out.kind = TomlNode::Kind::text;
        out.text = *text;
    } else if (const auto boolean = node.value_exact<bool>()) {
        out.kind = TomlNode::Kind::boolean;
        out.number = *boolean ? 1 : 0;
    } else if (const auto number = node.value<double>()) {
        out.kind = TomlNode::Kind::number;
        out.number = *number;
    }
    return out;
}

scenarios::Error broken(const toml::parse_error& error, const std::string& name) {
    return {
        scenarios::ErrorCode::bad_input,
        "this is not TOML: " + std::string(error.description()),
        "",
        {name, static_cast<int>(error.source().begin.line), static_cast<int>(error.source().begin.column)}};
}

}  // namespace

const TomlNode& TomlNode::operator[](std::string_view name) const {
    static const TomlNode nothing;
    for (const auto& [key, value] : members) {
        if (key == name) return value;
    }
    return nothing;
}

double TomlNode::number_or(double otherwise) const {
    return kind == Kind::number || kind == Kind::boolean ? number : otherwise;
}

std::vector<std::string> TomlNode::texts() const {
    if (kind == Kind::text) return {text};
    std::vector<std::string> all;
    for (const TomlNode& item : items) {
        if (item.kind == Kind::text) all.push_back(item.text);
    }
    return all;
}

scenarios::Result<TomlNode> read_toml(const std::filesystem::path& file) {
    if (!std::filesystem::is_regular_file(file)) {
        return scenarios::refuse(scenarios::ErrorCode::io, "there is no file '" + file.string() + "'");
    }
    try {
        return copy(toml::parse_file(file.string()));
    } catch (const toml::parse_error& error) {
        return tl::unexpected(broken(error, file.string()));
    }
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

scenarios::Result<void> check_members(const TomlNode& table, const std::vector<std::string>& known,
                                      const std::string& file) {
    for (const auto& [name, value] : table.members) {
        if (std::find(known.begin(), known.end(), name) != known.end()) continue;
        const std::string near = scenarios::nearest(name, known);
        return scenarios::refuse(scenarios::ErrorCode::bad_input, "unknown key '" + name + "'",
                                 near.empty() ? fmt::format("known are: {}", fmt::join(known, ", "))
                                              : "did you mean '" + near + "'?",
                                 {file, value.line, 0});
    }
    return {};
}

}  // namespace deadrank::results::exporters
