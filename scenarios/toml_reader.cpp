// scenarios/toml_reader.cpp — Keys asked for, keys refused.
#include "scenarios/toml_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <sstream>

#include "scenarios/vocabulary.h"

namespace deadrank::scenarios {

Place Problems::place(const toml::node& at) const {
    const auto& begin = at.source().begin;
    return {file_, static_cast<int>(begin.line), static_cast<int>(begin.column)};
}

void Problems::add(const toml::source_region& at, std::string what, std::string remedy) {
    errors_.push_back({ErrorCode::bad_input,
                       std::move(what),
                       std::move(remedy),
                       {file_, static_cast<int>(at.begin.line), static_cast<int>(at.begin.column)}});
}

void Problems::add(const toml::node& at, std::string what, std::string remedy) {
    add(at.source(), std::move(what), std::move(remedy));
}

void Problems::add(Error error, const toml::node& at) {
    add(at, std::move(error.what), std::move(error.remedy));
}

Error Problems::first() const {
    std::vector<Error> sorted = errors_;
    std::stable_sort(sorted.begin(), sorted.end(), [](const Error& a, const Error& b) {
        return std::pair(a.place.line, a.place.column) < std::pair(b.place.line, b.place.column);
    });
    Error error = sorted.front();
    for (std::size_t i = 1; i < sorted.size(); ++i) error.remedy += "\n" + sorted[i].text();
    return error;
}

Result<std::string> read_text(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    if (!in) {
        return refuse(ErrorCode::io, fmt::format("cannot be read: {}", std::strerror(errno)),
                      "check that it exists and is readable", {file});
    }
    std::stringstream text;
    text << in.rdbuf();
    if (in.bad()) return refuse(ErrorCode::io, "cannot be read to its end", "", {file});
    return text.str();
}

Result<toml::table> parse_toml(std::string_view text, const std::string& file) {
    try {
        return toml::parse(text, file);
    } catch (const toml::parse_error& error) {
        const auto& begin = error.source().begin;
        return refuse(ErrorCode::bad_input, fmt::format("not TOML: {}", error.description()), "",
                      {file, static_cast<int>(begin.line), static_cast<int>(begin.column)});
    }
}

std::string_view kind_of(const toml::node& node) {
    switch (node.type()) {
        case toml::node_type::table:
            return "a table";
        case toml::node_type::array:
            return "a list";
        case toml::node_type::string:
            return "a text";
        case toml::node_type::integer:
            return "an integer";
        case toml::node_type::floating_point:
            return "a number with a fraction";
        case toml::node_type::boolean:
            return "true or false";
        default:
            return "a date";
    }
}

bool scalar_text(const toml::node& node, std::string& text) {
    if (const auto* string = node.as_string()) {
        text = string->get();
    } else if (const auto* integer = node.as_integer()) {
        text = std::to_string(integer->get());
    } else if (const auto* boolean = node.as_boolean()) {
        text = boolean->get() ? "true" : "false";
    } else if (const auto* number = node.as_floating_point()) {
        text = fmt::format("{}", number->get());  // "1.5": the shortest text that reads back
    } else {
        return false;
    }
    return true;
}

const toml::node* TomlReader::find(std::string_view key) {
    asked_.emplace(key);
    return table_.get(key);
}

const toml::table* TomlReader::table(std::string_view key) {
    const toml::node* node = find(key);
    if (!node) return nullptr;
    if (!node->is_table())
        problems_.add(*node, fmt::format("'{}' is {}, not a table", key, kind_of(*node)),
                      fmt::format("write [{}]", key));
    return node->as_table();
}

const toml::array* TomlReader::tables(std::string_view key) {
    const toml::node* node = find(key);
    if (!node) return nullptr;
    const toml::array* list = node->as_array();
    if (!list ||
        !std::all_of(list->begin(), list->end(), [](const toml::node& item) { return item.is_table(); })) {
        problems_.add(*node, fmt::format("'{}' is {}, not a list of tables", key, kind_of(*node)),
                      fmt::format("write [[{}]]", key));
        return nullptr;
    }
    return list;
}

std::string TomlReader::text(std::string_view key, bool required) {
    const toml::node* node = find(key);
    if (!node) {
        if (required)
            problems_.add(table_, fmt::format("[{}] lacks '{}'", name_, key),
                          fmt::format("add {} = \"…\"", key));
        return {};
    }
    if (const auto* string = node->as_string()) return string->get();
    problems_.add(*node, fmt::format("'{}' is {}, not a text", key, kind_of(*node)), "put it in quotes");
    return {};
}

std::vector<std::string> TomlReader::texts(std::string_view key) {
    const toml::node* node = find(key);
    std::vector<std::string> found;
    if (!node) return found;
    if (const auto* string = node->as_string()) return {string->get()};
    if (const auto* list = node->as_array()) {
        for (const toml::node& item : *list) {
            if (const auto* string = item.as_string()) {
                found.push_back(string->get());
            } else {
                problems_.add(item, fmt::format("'{}' holds {}, not a text", key, kind_of(item)),
                              "put it in quotes");
            }
        }
        return found;
    }
    problems_.add(*node, fmt::format("'{}' is {}, not a list of texts", key, kind_of(*node)),
                  "write [\"…\", \"…\"]");
    return found;
}

std::int64_t TomlReader::integer(std::string_view key, std::int64_t otherwise) {
    const toml::node* node = find(key);
    if (!node) return otherwise;
    if (const auto* number = node->as_integer()) return number->get();
    problems_.add(*node, fmt::format("'{}' is {}, not an integer", key, kind_of(*node)));
    return otherwise;
}

bool TomlReader::flag(std::string_view key, bool otherwise) {
    const toml::node* node = find(key);
    if (!node) return otherwise;
    if (const auto* boolean = node->as_boolean()) return boolean->get();
    problems_.add(*node, fmt::format("'{}' is {}, not true or false", key, kind_of(*node)));
    return otherwise;
}

std::int64_t TomlReader::duration(std::string_view key, std::int64_t otherwise) {
    const toml::node* node = find(key);
    if (!node) return otherwise;
    std::string words;
    if (scalar_text(*node, words)) {
        auto value = parse_value(ValueType::duration, words);
        if (value) return value->number;
        problems_.add(value.error(), *node);
    } else {
        problems_.add(*node, fmt::format("'{}' is {}, not a duration", key, kind_of(*node)), "write \"30s\"");
    }
    return otherwise;
}

void TomlReader::refuse_the_rest() {
    const std::vector<std::string> known(asked_.begin(), asked_.end());
    for (const auto& [key, node] : table_) {
        if (asked_.count(std::string_view(key.str()))) continue;
        const std::string near = nearest(key.str(), known);
        std::string list;
        for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
        problems_.add(
            key.source(), fmt::format("unknown key '{}' in {}", key.str(), name_),
            near.empty() ? fmt::format("known are {}", list) : fmt::format("did you mean '{}'?", near));
    }
}

}  // namespace deadrank::scenarios
