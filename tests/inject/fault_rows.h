// tests/inject/fault_rows.h — What each fault is given, and which levers it must pull for that.
// Written as tests/inject/recording_levers.h words a pull.
#pragma once

#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace deadrank::inject::testing {

using Words = std::vector<std::pair<std::string, std::string>>;  // parameter → its text

struct Row {
    std::string kind;
    Words given;
    std::vector<std::string> pulls;   // of apply
    std::vector<std::string> undone;  // of revert
    std::string component = {};
    std::string variable = {};
    std::string shard = {};
    std::string name = {};  // where one kind has several rows
};

inline void PrintTo(const Row& row, std::ostream* out) { *out << row.kind << row.name; }

extern const std::vector<Row> rows;

}  // namespace deadrank::inject::testing
