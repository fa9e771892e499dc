// scenarios/model/quantity.h — Numbers with units, exactly: "1.5ms" is 1,500,000 ns without a float on the
// way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "scenarios/model/value.h"

namespace deadrank::scenarios {

// Duration, bytes, rate, ratio or factor, in the integer that Value::number holds.
Result<std::int64_t> parse_quantity(ValueType type, std::string_view text);

// In the largest unit that needs no fraction; ratios as "0.1%", factors as "1.5x".
std::string quantity_text(ValueType type, std::int64_t number);

// "-12", without unit or fraction; nothing when it is none or does not fit.
std::optional<std::int64_t> parse_whole(std::string_view text);

}  // namespace deadrank::scenarios
