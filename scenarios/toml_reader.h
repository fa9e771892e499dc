// scenarios/toml_reader.h — Reads a TOML table key by key and remembers which were asked for: what nobody
// read is refused. Only for .cpp files of this room: it brings toml++.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <toml++/toml.h>
#include <vector>

#include "scenarios/error.h"
#include "scenarios/value.h"

namespace deadrank::scenarios {

// All that is wrong with one file, in order of place.
class Problems {
public:
    explicit Problems(std::string file) : file_(std::move(file)) {}

    void add(const toml::node& at, std::string what, std::string remedy = {});
    void add(const toml::source_region& at, std::string what, std::string remedy = {});
    void add(Error error, const toml::node& at);  // an error that does not know its place yet
    bool empty() const { return errors_.empty(); }
    Place place(const toml::node& at) const;
    Error first() const;  // mentions how many more there are, one a line
    const std::string& file() const { return file_; }

private:
    std::string file_;
    std::vector<Error> errors_;
};

// A parsed file, or the parser's own words with line and column.
Result<toml::table> parse_toml(std::string_view text, const std::string& file);
Result<std::string> read_text(const std::string& file);

class TomlReader {
public:
    TomlReader(const toml::table& table, std::string name, Problems& problems)
        : table_(table), name_(std::move(name)), problems_(problems) {}

    const toml::node* find(std::string_view key);  // nullptr when absent; marks it as read
    const toml::table* table(std::string_view key);
    const toml::array* tables(std::string_view key);  // of [[key]]
    std::string text(std::string_view key, bool required = false);
    std::vector<std::string> texts(std::string_view key);  // a list, or one text
    std::int64_t integer(std::string_view key, std::int64_t otherwise);
    bool flag(std::string_view key, bool otherwise);
    std::int64_t duration(std::string_view key, std::int64_t otherwise);

    // Call at the end: every key that was not asked for is an error with the nearest that was.
    void refuse_the_rest();

    const toml::table& raw() const { return table_; }

private:
    const toml::table& table_;
    std::string name_;
    Problems& problems_;
    std::set<std::string, std::less<>> asked_;
};

// "node is an integer": for messages.
std::string_view kind_of(const toml::node& node);

// The text form of a scalar, as parse_value takes it; false for tables and arrays.
bool scalar_text(const toml::node& node, std::string& text);

}  // namespace deadrank::scenarios
