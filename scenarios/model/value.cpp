// scenarios/model/value.cpp — Values of parameters, and quantities with their units, as text and back.
#include "scenarios/model/value.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <span>

#include "scenarios/model/document.h"
#include "scenarios/model/error.h"
#include "scenarios/model/text.h"
#include "scenarios/model/toml_text.h"

namespace deadrank::scenarios {

// ── Texts to values and back: what value_text writes, parse_value reads to the same value.

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
    for (const std::string_view part : parts_of(text, ',')) {
        const auto number = parse_whole(without_spaces(part));
        if (!number || *number < 0) return not_a_value(type, text, "write numbers from 0: \"1, 2\"");
        value.list.push_back(*number);
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

// ── The tables of units, and decimal arithmetic in 128 bits.

namespace {

__extension__ using Wide = __int128;

struct Unit {
    std::string_view name;
    std::int64_t size;
};

constexpr Unit duration_units[] = {{"ns", 1},
                                   {"us", 1'000},
                                   {"ms", 1'000'000},
                                   {"s", 1'000'000'000},
                                   {"m", 60'000'000'000},
                                   {"min", 60'000'000'000},
                                   {"h", 3'600'000'000'000},
                                   {"d", 86'400'000'000'000}};
constexpr Unit byte_units[] = {
    {"B", 1},           {"kB", 1'000},         {"KiB", 1LL << 10}, {"MB", 1'000'000},
    {"MiB", 1LL << 20}, {"GB", 1'000'000'000}, {"GiB", 1LL << 30}, {"TB", 1'000'000'000'000},
    {"TiB", 1LL << 40}};
constexpr Unit rate_units[] = {
    {"bps", 1}, {"kbps", 1'000}, {"Mbps", 1'000'000}, {"Gbps", 1'000'000'000}, {"Tbps", 1'000'000'000'000},
    {"B/s", 8}, {"kB/s", 8'000}, {"MB/s", 8'000'000}, {"GB/s", 8'000'000'000}, {"TB/s", 8'000'000'000'000}};
constexpr Unit factor_units[] = {{"x", 1'000}, {"", 1'000}};
constexpr Unit ratio_units[] = {{"%", 10'000'000}, {"ppm", 1'000}, {"ppb", 1}, {"", 1'000'000'000}};

std::span<const Unit> units_of(ValueType type) {
    switch (type) {
        case ValueType::duration:
            return duration_units;
        case ValueType::bytes:
            return byte_units;
        case ValueType::rate:
            return rate_units;
        case ValueType::factor:
            return factor_units;
        case ValueType::ratio:
            return ratio_units;
        default:
            CHECK(false);
    }
}

std::string quantity_remedy(ValueType type) {
    if (type == ValueType::ratio) return "write \"1/10000\" or \"0.1%\"";
    if (type == ValueType::factor) return "write \"1.5x\"";
    std::string names;
    for (const Unit& unit : units_of(type)) names += (names.empty() ? "" : ", ") + std::string(unit.name);
    const char* example = type == ValueType::duration ? "5us"
                          : type == ValueType::bytes  ? "64KiB"
                                                      : "100Gbps";
    return fmt::format("write a number and one of {}: \"{}\"", names, example);
}

tl::unexpected<Error> not_a_quantity(ValueType type, std::string_view text, std::string_view why = {}) {
    return refuse(ErrorCode::bad_input, fmt::format("'{}' is not {}{}", text, type_phrase(type), why),
                  quantity_remedy(type));
}

// "12.75" as digits over a power of ten, and what follows.
struct Decimal {
    Wide digits = 0;
    std::int64_t scale = 1;
    std::string_view rest;
};

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

// More digits than a quantity can need are refused, so that no product below overflows.
bool read_decimal(std::string_view text, Decimal& decimal) {
    constexpr Wide most_digits = Wide{1} << 70;
    constexpr std::int64_t most_scale = 1'000'000'000'000'000;
    std::size_t at = text.starts_with('-') ? 1 : 0;
    const std::size_t first = at;
    bool point = false;
    for (; at < text.size() && (is_digit(text[at]) || (text[at] == '.' && !point)); ++at) {
        if (text[at] == '.') {
            point = true;
            continue;
        }
        decimal.digits = decimal.digits * 10 + (text[at] - '0');
        if (point) decimal.scale *= 10;
        if (decimal.digits > most_digits || decimal.scale > most_scale) return false;
    }
    if (at == first || !is_digit(text[first]) || !is_digit(text[at - 1])) return false;
    if (first == 1) decimal.digits = -decimal.digits;
    decimal.rest = text.substr(at);
    if (decimal.rest.starts_with(' ')) decimal.rest.remove_prefix(1);  // "100 Gbps"
    return true;
}

Result<std::int64_t> fitting(ValueType type, std::string_view text, Wide number) {
    if (number > INT64_MAX || number < -INT64_MAX) return not_a_quantity(type, text, ": it is too large");
    return static_cast<std::int64_t>(number);
}

// "1/3" is not exact in parts per billion; it is truncated there, on every machine alike.
Result<std::int64_t> parse_fraction(std::string_view text, std::size_t slash) {
    const auto above = parse_whole(text.substr(0, slash));
    const auto below = parse_whole(text.substr(slash + 1));
    if (!above || !below || *below <= 0) return not_a_quantity(ValueType::ratio, text);
    return fitting(ValueType::ratio, text, Wide{*above} * 1'000'000'000 / *below);
}

std::string decimal_text(std::int64_t number, std::int64_t scale, std::string_view unit) {
    const bool negative = number < 0;
    const std::uint64_t size =
        negative ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
    const auto whole = static_cast<std::uint64_t>(scale);
    std::string text = fmt::format("{}{}", negative ? "-" : "", size / whole);
    std::uint64_t rest = size % whole;
    if (rest > 0) text += '.';
    for (std::uint64_t digit = whole / 10; rest > 0; digit /= 10) {
        text += static_cast<char>('0' + rest / digit);
        rest %= digit;
    }
    return text + std::string(unit);
}

}  // namespace

std::optional<std::int64_t> parse_whole(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

Result<std::int64_t> parse_quantity(ValueType type, std::string_view text) {
    if (const auto slash = text.find('/'); type == ValueType::ratio && slash != text.npos) {
        return parse_fraction(text, slash);
    }
    Decimal decimal;
    if (!read_decimal(text, decimal)) return not_a_quantity(type, text);
    for (const Unit& unit : units_of(type)) {
        if (unit.name != decimal.rest) continue;
        const Wide product = decimal.digits * unit.size;
        if (product % decimal.scale != 0)
            return not_a_quantity(type, text, ": it is finer than the smallest step");
        return fitting(type, text, product / decimal.scale);
    }
    return not_a_quantity(type, text);
}

std::string quantity_text(ValueType type, std::int64_t number) {
    if (type == ValueType::ratio) return decimal_text(number, 10'000'000, "%");
    if (type == ValueType::factor) return decimal_text(number, 1'000, "x");
    const std::span<const Unit> units = units_of(type);
    const Unit* best = &units.front();
    for (const Unit& unit : units) {
        const bool in_bytes_per_second = unit.name.find('/') != std::string_view::npos;
        if (number != 0 && !in_bytes_per_second && number % unit.size == 0 && unit.size > best->size)
            best = &unit;
    }
    return fmt::format("{}{}", number / best->size, best->name);
}

}  // namespace deadrank::scenarios
