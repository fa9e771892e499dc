// scenarios/value.cpp — Text of quantities to integers and back, exactly: "1.5ms" is 1,500,000 ns without a
// float on the way.
#include "scenarios/value.h"

#include <array>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <span>

namespace deadrank::scenarios {

namespace {

__extension__ typedef __int128 Wide;

struct Unit {
    std::string_view name;
    std::int64_t size;
};

constexpr std::array<Unit, 7> duration_units = {{{"ns", 1},
                                                 {"us", 1'000},
                                                 {"ms", 1'000'000},
                                                 {"s", 1'000'000'000},
                                                 {"m", 60'000'000'000},
                                                 {"h", 3'600'000'000'000},
                                                 {"d", 86'400'000'000'000}}};
constexpr std::array<Unit, 9> byte_units = {{{"B", 1},
                                             {"kB", 1'000},
                                             {"KiB", 1LL << 10},
                                             {"MB", 1'000'000},
                                             {"MiB", 1LL << 20},
                                             {"GB", 1'000'000'000},
                                             {"GiB", 1LL << 30},
                                             {"TB", 1'000'000'000'000},
                                             {"TiB", 1LL << 40}}};
constexpr std::array<Unit, 8> rate_units = {{{"bps", 1},
                                             {"kbps", 1'000},
                                             {"Mbps", 1'000'000},
                                             {"Gbps", 1'000'000'000},
                                             {"Tbps", 1'000'000'000'000},
                                             {"kB/s", 8'000},
                                             {"MB/s", 8'000'000},
                                             {"GB/s", 8'000'000'000}}};
constexpr std::array<Unit, 2> factor_units = {{{"x", 1'000}, {"", 1'000}}};
constexpr std::array<Unit, 4> ratio_units = {
    {{"%", 10'000'000}, {"ppm", 1'000}, {"ppb", 1}, {"", 1'000'000'000}}};

// "12.75" as digits × 10^-decimals.
struct Decimal {
    Wide digits = 0;
    std::int64_t scale = 1;
    std::string_view rest;
};

bool read_decimal(std::string_view text, Decimal& decimal) {
    bool negative = false;
    std::size_t at = 0;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) negative = text[at++] == '-';
    const std::size_t first = at;
    bool point = false;
    for (; at < text.size() &&
           ((text[at] >= '0' && text[at] <= '9') || (text[at] == '.' && !point) || text[at] == '_');
         ++at) {
        if (text[at] == '_') continue;
        if (text[at] == '.') {
            point = true;
            continue;
        }
        if (decimal.digits > Wide{1} << 90 || decimal.scale > 1'000'000'000'000) return false;
        decimal.digits = decimal.digits * 10 + (text[at] - '0');
        if (point) decimal.scale *= 10;
    }
    if (at == first || (point && at == first + 1)) return false;
    if (negative) decimal.digits = -decimal.digits;
    decimal.rest = text.substr(at);
    while (!decimal.rest.empty() && decimal.rest.front() == ' ') decimal.rest.remove_prefix(1);
    return true;
}

tl::unexpected<Error> cannot(ValueType type, std::string_view text, std::string remedy) {
    return refuse(ErrorCode::bad_input, fmt::format("'{}' is not a {}", text, type_name(type)),
                  std::move(remedy));
}

template <class Units>
Result<Value> with_unit(ValueType type, std::string_view text, const Units& units, std::string_view example) {
    std::string names;
    for (const Unit& unit : units)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", unit.name.empty() ? "no unit" : unit.name);
    const std::string remedy = fmt::format("write a number and one of {}: \"{}\"", names, example);
    Decimal decimal;
    if (!read_decimal(text, decimal)) return cannot(type, text, remedy);
    for (const Unit& unit : units) {
        if (unit.name != decimal.rest) continue;
        const Wide product = decimal.digits * unit.size;
        if (product % decimal.scale != 0)
            return cannot(type, text, "it is finer than the smallest step; " + remedy);
        const Wide number = product / decimal.scale;
        if (number > INT64_MAX || number < INT64_MIN) return cannot(type, text, "it is too large; " + remedy);
        return Value{.type = type, .number = static_cast<std::int64_t>(number)};
    }
    return cannot(type, text, remedy);
}

Result<Value> ratio(std::string_view text) {
    const auto slash = text.find('/');
    if (slash == std::string_view::npos)
        return with_unit(ValueType::ratio, text, ratio_units, "1/10000\" or \"0.1%");
    Decimal above;
    Decimal below;
    const std::string remedy = "write \"1/10000\" or \"0.1%\"";
    if (!read_decimal(text.substr(0, slash), above) || !read_decimal(text.substr(slash + 1), below) ||
        !above.rest.empty() || !below.rest.empty() || above.scale != 1 || below.scale != 1 ||
        below.digits <= 0) {
        return cannot(ValueType::ratio, text, remedy);
    }
    const Wide number = above.digits * 1'000'000'000 / below.digits;
    if (number > INT64_MAX || number < INT64_MIN) return cannot(ValueType::ratio, text, remedy);
    return Value{.type = ValueType::ratio, .number = static_cast<std::int64_t>(number)};
}

// The largest unit that divides without a rest.
template <class Units>
std::string shortest(std::int64_t number, const Units& units) {
    const Unit* best = &units.front();
    for (const Unit& unit : units) {
        if (number % unit.size == 0 && unit.size >= best->size) best = &unit;
    }
    if (number == 0) best = &units.front();
    return fmt::format("{}{}", number / best->size, best->name);
}

std::string decimal_text(std::int64_t number, std::int64_t scale, std::string_view unit) {
    std::string text = fmt::format("{}{}", number < 0 ? "-" : "", std::abs(number) / scale);
    std::string fraction;
    for (std::int64_t rest = std::abs(number) % scale, digit = scale / 10; rest > 0; digit /= 10) {
        fraction += static_cast<char>('0' + rest / digit);
        rest %= digit;
    }
    if (!fraction.empty()) text += "." + fraction;
    return text + std::string(unit);
}

Result<Value> number_list(ValueType type, std::string_view text) {
    Value value{.type = type};
    std::size_t at = 0;
    while (at <= text.size()) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        std::string_view part = text.substr(at, comma - at);
        while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
        while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
        std::int64_t number = 0;
        const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
        if (error != std::errc() || end != part.data() + part.size() || number < 0) {
            return cannot(type, text, "write numbers from 0: \"1, 2\"");
        }
        value.list.push_back(number);
        at = comma + 1;
    }
    return value;
}

}  // namespace

std::string_view type_name(ValueType type) {
    constexpr std::array<std::string_view, 12> names = {
        "boolean", "integer", "text",   "choice",        "duration",      "size in bytes",
        "rate",    "ratio",   "factor", "list of ranks", "list of nodes", "table"};
    return names[static_cast<std::size_t>(type)];
}

Result<Value> parse_value(ValueType type, std::string_view text) {
    switch (type) {
        case ValueType::boolean:
            if (text != "true" && text != "false") return cannot(type, text, "write true or false");
            return Value{.type = type, .number = text == "true"};
        case ValueType::integer: {
            Decimal decimal;
            if (!read_decimal(text, decimal) || !decimal.rest.empty() || decimal.scale != 1 ||
                decimal.digits > INT64_MAX || decimal.digits < INT64_MIN) {
                return cannot(type, text, "write a whole number");
            }
            return Value{.type = type, .number = static_cast<std::int64_t>(decimal.digits)};
        }
        case ValueType::text:
        case ValueType::choice:
            return Value{.type = type, .text = std::string(text)};
        case ValueType::duration:
            return with_unit(type, text, duration_units, "5us");
        case ValueType::bytes:
            return with_unit(type, text, byte_units, "64KiB");
        case ValueType::rate:
            return with_unit(type, text, rate_units, "100Gbps");
        case ValueType::ratio:
            return ratio(text);
        case ValueType::factor:
            return with_unit(type, text, factor_units, "1.5x");
        case ValueType::ranks:
        case ValueType::nodes:
            return number_list(type, text);
        case ValueType::table:
            return cannot(type, text, "write a table: { NAME = \"value\" }");
    }
    return cannot(type, text, "");
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
        case ValueType::duration:
            return shortest(value.number, duration_units);
        case ValueType::bytes:
            return shortest(value.number, byte_units);
        case ValueType::rate:
            return shortest(value.number, std::span(rate_units).first<5>());
        case ValueType::ratio:
            return decimal_text(value.number, 10'000'000, "%");
        case ValueType::factor:
            return decimal_text(value.number, 1'000, "x");
        case ValueType::ranks:
        case ValueType::nodes:
            return fmt::format("{}", fmt::join(value.list, ", "));
        case ValueType::table: {
            std::string text;
            for (const auto& [name, content] : value.table)
                text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, content);
            return text;
        }
    }
    return {};
}

}  // namespace deadrank::scenarios
