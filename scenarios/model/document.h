// scenarios/model/document.h — A TOML file as plain values with their places, so that only one .cpp uses the
// parser.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/model/error.h"

namespace deadrank::scenarios {

struct Member;

struct Node {
    enum class Kind { none, table, list, text, integer, fraction, boolean, date };

    Kind kind = Kind::table;
    Place place;
    std::string text;              // of a text; else what parse_value would take: "7", "1.5", "true"
    std::int64_t integer = 0;      // also 0 and 1 of a boolean
    Place first_letter = {};       // of a text, behind its quotes; line 0 where that is not known
    bool several_lines = false;    // a text between three quotes
    std::vector<Node> items = {};  // of a list
    std::vector<Member> members;   // of a table, in the order of the file

    bool is(Kind other) const { return kind == other; }
    bool scalar() const { return kind != Kind::table && kind != Kind::list; }
    bool is_number() const { return kind == Kind::integer || kind == Kind::fraction; }
    const Member* find(std::string_view key) const;

    // A node of Kind::none if there is no such member.
    const Node& operator[](std::string_view key) const;
    explicit operator bool() const { return kind != Kind::none; }
    std::string text_or(std::string otherwise = {}) const { return kind == Kind::text ? text : otherwise; }
    double number_or(double otherwise) const;  // of a boolean 0 or 1
    bool is_true() const { return kind == Kind::boolean && integer != 0; }
    std::vector<std::string> texts() const;  // of a list, or of one text
};

struct Member {
    std::string key;
    Place place;  // of the key
    Node value;
};

// Errors: bad_input with the parser's message.
Result<Node> parse_document(std::string_view text, const std::string& file);

// Opens a file that a user or a file named, to read its bytes. Errors: io; a directory, and a named pipe into
// which nobody writes for three seconds, for which opening it would wait.
Result<std::ifstream> open_input(const std::filesystem::path& file);

// The bytes of a file, at most 256 MiB. Errors: io, as open_input().
Result<std::string> read_text(const std::filesystem::path& file);

// The version of toml++, for bug reports: "3.3.0".
std::string parser_version();

// "a list", "an integer", …: for messages.
std::string_view kind_name(const Node& node);

}  // namespace deadrank::scenarios
