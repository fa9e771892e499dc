// scenarios/model/value.h — Values of parameters, and quantities with their units, as text and back.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/model/error.h"

namespace deadrank::scenarios {

// ── A typed quantity of a scenario. Text such as "5us" or "1/10000" becomes an integer when it is read.
// There are no floats inside, so that every compiler draws and compares the same.

enum class ValueType {
    boolean,
    integer,
    text,      // free text
    choice,    // text out of a stated list
    duration,  // "5us", "30s", "2h"     → nanoseconds
    bytes,     // "64KiB", "80GiB"       → bytes
    rate,      // "100Gbps", "2GB/s"     → bits per second
    ratio,     // "1/10000", "0.1%"      → parts per billion
    factor,    // "1.5x", 2              → thousandths
    ranks,     // 3, [1, 2], "any 2 but 0", "node 1", … as in selector.h → list of ranks
    nodes,     // as ranks, of nodes
    table,     // name → text, as in environment or versions
};

// In a plan every Value is concrete. Which members count depends on `type`.
struct Value {
    ValueType type = ValueType::integer;
    std::int64_t number = 0;              // boolean, integer, duration, bytes, rate, ratio, factor
    std::string text = {};                // text, choice
    std::vector<std::int64_t> list = {};  // ranks, nodes: ascending, without duplicates
    std::map<std::string, std::string> table = {};

    bool operator==(const Value&) const = default;
};

// Reads the text form of a quantity ("5us", "1/10000", "100Gbps"). Errors name the accepted units.
Result<Value> parse_value(ValueType type, std::string_view text);

// In the largest unit without a fraction: 5000 ns is "5us". parse_value reads it back to the same value.
std::string value_text(const Value& value);

std::string_view type_name(ValueType type);  // "duration"
std::string type_phrase(ValueType type);     // "a duration"

// Ranks and nodes: only the shape of a job says how many there are.
constexpr bool counts_members(ValueType type) { return type == ValueType::ranks || type == ValueType::nodes; }

using Values = std::map<std::string, Value>;  // parameter name → value

// Numbers with units, exactly: "1.5ms" is 1,500,000 ns without a float on the way.
// Duration, bytes, rate, ratio or factor, in the integer that Value::number holds.
Result<std::int64_t> parse_quantity(ValueType type, std::string_view text);

// In the largest unit that needs no fraction; ratios as "0.1%", factors as "1.5x".
std::string quantity_text(ValueType type, std::int64_t number);

// "-12", without unit or fraction; nothing when it is not such a number or does not fit.
std::optional<std::int64_t> parse_whole(std::string_view text);

}  // namespace deadrank::scenarios
