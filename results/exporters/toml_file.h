// results/exporters/toml_file.h — Reads exporter tables, name maps and policies: a TOML file, its durations
// and its members.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/model/document.h"
#include "scenarios/model/error.h"

namespace deadrank::results::exporters {

scenarios::Result<scenarios::Node> read_toml(const std::filesystem::path& file);

// "90s", "5m", "1h30m" in seconds; -1 if it is not a duration.
double seconds_of(std::string_view duration);
std::string duration_text(double seconds);  // "20m15s"

// Refuses a member that is not in `known`, with its line and the nearest known word.
scenarios::Result<void> check_members(const scenarios::Node& table, const std::vector<std::string>& known,
                                      const std::string& file);

}  // namespace deadrank::results::exporters
