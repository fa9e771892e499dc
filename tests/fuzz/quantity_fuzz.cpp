// tests/fuzz/quantity_fuzz.cpp — Promise: a quantity that is read is written so that it is read as the same
// number.
#include "scenarios/model/release.h"
#include "scenarios/model/value.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(quantity) {
    using scenarios::ValueType;
    bool accepted = false;
    for (const ValueType type : {ValueType::boolean, ValueType::integer, ValueType::duration,
                                 ValueType::bytes, ValueType::rate, ValueType::ratio, ValueType::factor}) {
        const auto value = scenarios::parse_value(type, text);
        accepted = (value || refused(value)) || accepted;
        if (!value) continue;
        const auto again = scenarios::parse_value(type, scenarios::value_text(*value));
        CHECK(again && *again == *value);
    }
    const auto pin = scenarios::parse_pin(text);
    return (pin || refused(pin)) || accepted;
}
