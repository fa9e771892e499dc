// scenarios/format/literal.cpp — One form for each type, so that equal values are equal bytes.
#include "scenarios/format/literal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "scenarios/model/quote.h"

namespace deadrank::scenarios {

std::string toml_duration(std::int64_t nanoseconds) {
    return toml_text(value_text({.type = ValueType::duration, .number = nanoseconds}));
}

std::string toml_literal(const Value& value) {
    switch (value.type) {
        case ValueType::boolean:
        case ValueType::integer:
        case ValueType::table:
            return value_text(value);
        case ValueType::ranks:
        case ValueType::nodes:
            return fmt::format("[{}]", value_text(value));
        default:
            return toml_text(value_text(value));
    }
}

std::string toml_rows(const Values& values) {
    std::string out;
    for (const auto& [name, value] : values) out += fmt::format("{} = {}\n", name, toml_literal(value));
    return out;
}

std::string toml_trigger(const Trigger& when) {
    std::vector<std::string> parts;
    if (when.at_start) parts.push_back("start = true");
    if (when.at >= 0) parts.push_back("at = " + toml_duration(when.at));
    if (when.step >= 0) parts.push_back(fmt::format("step = {}", when.step));
    if (!when.phase.empty()) parts.push_back("phase = " + toml_text(when.phase));
    if (!when.before.empty()) parts.push_back("before = " + toml_text(when.before));
    if (!when.comm.empty()) parts.push_back("comm = " + toml_text(when.comm));
    if (when.nth != 1) parts.push_back(fmt::format("nth = {}", when.nth));
    if (when.always) parts.push_back("always = true");
    if (when.until_step >= 0) parts.push_back(fmt::format("until_step = {}", when.until_step));
    if (when.lasts >= 0) parts.push_back("lasts = " + toml_duration(when.lasts));
    return parts.empty() ? "{}" : fmt::format("{{ {} }}", fmt::join(parts, ", "));
}

}  // namespace deadrank::scenarios
