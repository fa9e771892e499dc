// scenarios/format/parameter_schema.cpp — What setting_reader accepts, said to an editor.
#include "scenarios/format/parameter_schema.h"

#include <algorithm>
#include <fmt/format.h>

namespace deadrank::scenarios {

namespace {

std::string typed_schema(std::string_view type) { return json_object({{"type", json_string(type)}}); }

// A text of numbers with these units, or a range of two.
std::string pattern(std::string_view units) {
    const std::string one = fmt::format("-?[0-9]+(\\.[0-9]+)? ?({})", units);
    return json_object(
        {{"type", json_string("string")}, {"pattern", json_string(fmt::format("^{0}(\\.\\.{0})?$", one))}});
}

std::string texts_matching(std::string_view expression) {
    return json_object({{"type", json_string("string")}, {"pattern", json_string(expression)}});
}

// The forms of one value, without lists of choices.
std::vector<std::string> forms(ValueType type) {
    switch (type) {
        case ValueType::boolean:
            return {typed_schema("boolean")};
        case ValueType::integer:
            return {typed_schema("integer"), texts_matching("^-?[0-9]+\\.\\.-?[0-9]+$")};
        case ValueType::duration:
            return {pattern("ns|us|ms|s|m|h|d")};
        case ValueType::bytes:
            return {pattern("B|[kMGT]B|[KMGT]iB")};
        case ValueType::rate:
            return {pattern("[kMGT]?bps|[kMGT]?B/s")};
        case ValueType::ratio:
            return {pattern("%|ppm|ppb|/[0-9]+|"), typed_schema("number")};
        case ValueType::factor:
            return {pattern("x|"), typed_schema("number")};
        case ValueType::table:
            return {json_object(
                {{"type", json_string("object")},
                 {"additionalProperties", json_object({{"type", json_strings({"string", "integer"})}})}})};
        case ValueType::ranks:
        case ValueType::nodes:
            return {typed_schema("integer"), typed_schema("string"), typed_schema("array")};
        default:
            return {typed_schema("string"), typed_schema("integer")};
    }
}

bool may_be_a_choice(ValueType type) {
    return type != ValueType::ranks && type != ValueType::nodes && type != ValueType::table;
}

// One of these forms, or a list of them that the seed chooses from.
std::string with_choice(std::vector<std::string> alternatives, bool choice) {
    if (choice) {
        const std::string one = json_object({{"anyOf", json_list(alternatives)}});
        alternatives.push_back(
            json_object({{"type", json_string("array")}, {"minItems", "1"}, {"items", one}}));
    }
    return json_list(alternatives);
}

std::string definition_name(ValueType type) {
    std::string name(type_name(type));
    std::replace(name.begin(), name.end(), ' ', '_');
    return name;
}

}  // namespace

JsonMembers type_definitions() {
    JsonMembers definitions;
    for (int i = 0; i <= static_cast<int>(ValueType::table); ++i) {
        const auto type = static_cast<ValueType>(i);
        definitions.push_back({definition_name(type),
                               json_object({{"anyOf", with_choice(forms(type), may_be_a_choice(type))}})});
    }
    return definitions;
}

std::string parameter_schema(const Parameter& parameter) {
    std::string what = parameter.what;
    if (!parameter.fallback.empty()) {
        what += fmt::format("{}(default: {})", what.empty() ? "" : " ", parameter.fallback);
    }
    JsonMembers members;
    if (!parameter.choices.empty()) {
        members.push_back(
            {"anyOf", with_choice({json_object({{"enum", json_strings(parameter.choices)}})}, true)});
    } else {
        const std::string reference = json_string("#/definitions/" + definition_name(parameter.type));
        members.push_back({"allOf", json_list({json_object({{"$ref", reference}})})});
    }
    if (parameter.type == ValueType::integer && parameter.least > INT64_MIN) {
        members.push_back({"minimum", std::to_string(parameter.least)});
    }
    members.push_back({"description", json_string(what)});
    return json_object(members);
}

JsonMembers parameter_properties(const std::vector<Parameter>& parameters) {
    JsonMembers properties;
    std::vector<std::pair<std::string, std::vector<Parameter>>> groups;  // "link" → latency, bandwidth
    for (const Parameter& parameter : parameters) {
        const auto dot = parameter.name.find('.');
        if (dot == std::string::npos) {
            properties.push_back({parameter.name, parameter_schema(parameter)});
            continue;
        }
        const std::string group = parameter.name.substr(0, dot);
        Parameter inner = parameter;
        inner.name = parameter.name.substr(dot + 1);
        if (groups.empty() || groups.back().first != group) groups.push_back({group, {}});
        groups.back().second.push_back(std::move(inner));
    }
    for (const auto& [group, members] : groups) {
        properties.push_back({group, json_object({{"type", json_string("object")},
                                                  {"properties", json_object(parameter_properties(members))},
                                                  {"additionalProperties", "false"}})});
    }
    return properties;
}

}  // namespace deadrank::scenarios
