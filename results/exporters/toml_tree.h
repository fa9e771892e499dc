// results/exporters/toml_tree.h — A TOML file as a plain tree, with the line of each value. Exporter tables,
// name maps and policies are read through it, so that a single file compiles the parser.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/model/error.h"

namespace deadrank::results::exporters {

struct TomlNode {
    enum class Kind { none, text, number, boolean, list, table };

    Kind kind = Kind::none;
    std::string text = {};
    double number = 0;  // of booleans too: 0 or 1
    std::vector<TomlNode> items = {};
    std::vector<std::pair<std::string, TomlNode>> members = {};  // in the file's order
    int line = 0;

    // An empty node if there is no such member.
    const TomlNode& operator[](std::string_view name) const;
    explicit operator bool() const { return kind != Kind::none; }

    std::string text_or(std::string otherwise = {}) const { return kind == Kind::text ? text : otherwise; }
    double number_or(double otherwise) const;
    bool is_true() const { return kind == Kind::boolean && number != 0; }
    std::vector<std::string> texts() const;  // of a list, or of one text
};

scenarios::Result<TomlNode> read_toml(const std::filesystem::path& file);

// "90s", "5m", "1h30m" in seconds; -1 if it is not a duration.
double seconds_of(std::string_view duration);
std::string duration_text(double seconds);  // "20m15s"

// Refuses a member that is not in `known`, with its line and the nearest known word.
scenarios::Result<void> check_members(const TomlNode& table, const std::vector<std::string>& known,
                                      const std::string& file);

}  // namespace deadrank::results::exporters
