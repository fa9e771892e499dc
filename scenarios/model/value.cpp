// scenarios/model/value.cpp — Texts to values and back: what value_text writes, parse_value reads to the same
// value.
#include "scenarios/model/value.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "scenarios/model/document.h"
#include "scenarios/model/quantity.h"
#include "scenarios/model/quote.h"

namespace deadrank::scenarios {

namespace {

tl::unexpected<Error> not_a_value(ValueType type, std::string_view text, std::string remedy) {
    return refuse(ErrorCode::bad_input, fmt::format("'{}' is not {}", text, type_phrase(type)),
                  std::move(remedy));
}

std::string_view without_spaces(std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    return text;
}

Result<Value> parse_members(ValueType type, std::string_view text) {
    Value value{.type = type};
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        const auto number = parse_whole(without_spaces(text.substr(at, comma - at)));
        if (!number || *number < 0) return not_a_value(type, text, "write numbers from 0: \"1, 2\"");
        value.list.push_back(*number);
        at = comma + 1;
    }
    std::sort(value.list.begin(), value.list.end());
    if (std::adjacent_find(value.list.begin(), value.list.end()) != value.list.end()) {
        return not_a_value(type, text, "name each once");
    }
    return value;
}

Result<Value> parse_table(std::string_view text) {
    const std::string remedy = "write { NAME = \"value\" }";
    const auto document = parse_document(fmt::format("table = {}", text), {});
    if (!document || document->members.size() != 1) return not_a_value(ValueType::table, text, remedy);
    const Node& node = document->members.front().value;
    if (!node.is(Node::Kind::table)) return not_a_value(ValueType::table, text, remedy);
    Value value{.type = ValueType::table};
    for (const Member& member : node.members) {
        if (!member.value.is(Node::Kind::text)) return not_a_value(ValueType::table, text, remedy);
        value.table.emplace(member.key, member.value.text);
    }
    return value;
}

}  // namespace

std::string_view type_name(ValueType type) {
    constexpr std::string_view names[] = {"boolean",  "integer",       "text",          "choice",
                                          "duration", "size in bytes", "rate",          "ratio",
                                          "factor",   "list of ranks", "list of nodes", "table"};
    return names[static_cast<std::size_t>(type)];
}

std::string type_phrase(ValueType type) {
    return (type == ValueType::integer ? "an " : "a ") + std::string(type_name(type));
}

Result<Value> parse_value(ValueType type, std::string_view text) {
    switch (type) {
        case ValueType::boolean:
            if (text != "true" && text != "false") return not_a_value(type, text, "write true or false");
            return Value{.type = type, .number = text == "true"};
        case ValueType::integer: {
            const auto number = parse_whole(text);
            if (!number) return not_a_value(type, text, "write a whole number");
            return Value{.type = type, .number = *number};
        }
        case ValueType::text:
        case ValueType::choice:
            return Value{.type = type, .text = std::string(text)};
        case ValueType::ranks:
        case ValueType::nodes:
            return parse_members(type, text);
        case ValueType::table:
            return parse_table(text);
        default:
            return parse_quantity(type, text).map([&](std::int64_t number) {
                return Value{.type = type, .number = number};
            });
    }
}

std::string value_text(const Value& value) {
    switch (value.type) {
        case ValueType::boolean:
            return value.number != 0 ? "true" : "false";
        case ValueType::integer:
            return std::to_string(value.number);
        case ValueType::text:
        case ValueType::choice:
            return value.text;
        case ValueType::ranks:
        case ValueType::nodes:
            return fmt::format("{}", fmt::join(value.list, ", "));
        case ValueType::table:
            return toml_table(value.table);
        default:
            return quantity_text(value.type, value.number);
    }
}

}  // namespace deadrank::scenarios
