// scenarios/format/schema.cpp — The JSON schema of scenario files, for editors.
#include "scenarios/format/schema.h"

#include <algorithm>
#include <fmt/format.h>

#include "scenarios/format/file_words.h"
#include "scenarios/format/scenario_tables.h"
#include "scenarios/model/plan.h"

namespace deadrank::scenarios {

// ── One schema per table of the file; kinds are alternatives that differ in their `kind`.

namespace {

std::string table(JsonMembers properties, std::vector<std::string> required, std::string_view what) {
    return json_object({{"type", json_string("object")},
                        {"description", json_string(what)},
                        {"properties", json_object(properties)},
                        {"required", json_strings(required)},
                        {"additionalProperties", "false"}});
}

std::string key_schema(const FileKey& key) {
    const std::string says = json_string(key.what);
    const std::string word = json_object({{"enum", json_strings(key.words)}});
    switch (key.form) {
        case FileKey::Form::text:
            return json_object({{"type", json_string("string")}, {"description", says}});
        case FileKey::Form::texts:
            return json_object({{"type", json_strings({"string", "array"})},
                                {"items", json_object({{"type", json_string("string")}})},
                                {"description", says}});
        case FileKey::Form::word:
            return json_object({{"enum", json_strings(key.words)}, {"description", says}});
        case FileKey::Form::words:
            return json_object(
                {{"anyOf", json_list({word, json_object({{"type", json_string("array")}, {"items", word}})})},
                 {"description", says}});
        case FileKey::Form::ranks:
            return parameter_schema({.name = key.name, .type = ValueType::ranks, .what = key.what});
        case FileKey::Form::duration:
            return parameter_schema({.name = key.name, .type = ValueType::duration, .what = key.what});
        case FileKey::Form::integer:
            return json_object({{"type", json_string("integer")}, {"minimum", "0"}, {"description", says}});
    }
    return "{}";
}

// `more`: members that are not plain keys.
std::string table_schema(const FileTable& file_table, JsonMembers more = {}) {
    JsonMembers properties;
    std::vector<std::string> required;
    for (const FileKey& key : file_table.keys) {
        properties.push_back({key.name, key_schema(key)});
        if (key.required) required.push_back(key.name);
    }
    for (auto& member : more) properties.push_back(std::move(member));
    return table(std::move(properties), std::move(required), file_table.what);
}

std::vector<std::string> required_of(const Kind& kind) {
    std::vector<std::string> required = {"kind"};
    for (const Parameter& parameter : kind.parameters) {
        if (!parameter.optional && parameter.fallback.empty()) required.push_back(parameter.name);
    }
    return required;
}

std::string kind_schema(const Kind& kind, bool with_when) {
    JsonMembers properties = {
        {"kind", json_object({{"const", json_string(kind.name)}, {"description", json_string(kind.what)}})}};
    for (auto& member : parameter_properties(kind.parameters)) properties.push_back(std::move(member));
    if (with_when) {
        properties.push_back(
            {"provokes", json_object({{"type", json_string("boolean")},
                                      {"description", json_string("no part of the bug: it brings about what "
                                                                  "shows it, and is not to be named")}})});
        properties.push_back(
            {"hardware", json_object({{"type", json_string("boolean")},
                                      {"description", json_string("a defect of the machine: restarts meet it "
                                                                  "again, a spare node is without it")}})});
        properties.push_back({"when", json_object({{"$ref", json_string("#/definitions/when")}})});
    }
    return table(std::move(properties), required_of(kind), kind.what);
}

std::string kinds_schema(const std::vector<Kind>& kinds, bool with_when) {
    std::vector<std::string> alternatives;
    for (const Kind& kind : kinds) alternatives.push_back(kind_schema(kind, with_when));
    return json_object({{"oneOf", json_list(alternatives)}});
}

// Why an expectation asks for less than it could, as a member of [expect].
JsonMembers expect_members() {
    JsonMembers reasons;
    for (const char* field : {"blames", "reaction", "within"})
        reasons.push_back({field, json_object({{"type", json_string("string")}})});
    return {{"because", table(std::move(reasons), {}, "why it asks for less than it could, by field")}};
}

// What the fix may change, as members of [heal].
JsonMembers heal_members(const Taxonomy& taxonomy, const Vocabulary& vocabulary) {
    JsonMembers settings;  // of all workloads: which one runs is stated elsewhere in the file
    for (const Kind& kind : vocabulary.workloads) {
        for (auto& member : parameter_properties(kind.parameters)) {
            bool known = false;
            for (const auto& old : settings) known = known || old.first == member.first;
            if (!known) settings.push_back(std::move(member));
        }
    }
    const std::string change = json_object(
        {{"type", json_string("object")},
         {"description",
          json_string("what the fix lays over a fault, which stays: fault = its place, from 1")}});
    std::string expect;
    for (const FileTable& one : file_tables(taxonomy)) {
        if (one.name == "[expect]") expect = table_schema(one, expect_members());
    }
    return {
        {"change", json_object({{"type", json_string("array")}, {"items", change}})},
        {"expect", expect},
        {"cluster", table(parameter_properties(cluster_parameters()), {}, "settings that the fix changes")},
        {"workload", table(std::move(settings), {}, "settings that the fix changes")}};
}

}  // namespace

std::string editor_schema(const Taxonomy& taxonomy, const Vocabulary& vocabulary) {
    const std::string faults = json_object({{"type", json_string("array")},
                                            {"minItems", "1"},
                                            {"items", kinds_schema(vocabulary.faults, true)}});
    JsonMembers properties = {
        {"format", json_object({{"const", "1"}, {"description", json_string("version of this format")}})},
        {"cluster", table(parameter_properties(cluster_parameters()), {}, "the machines")},
        {"workload", kinds_schema(vocabulary.workloads, false)},
        {"fault", faults}};
    for (const FileTable& one : file_tables(taxonomy)) {
        if (one.name.empty()) {
            properties.push_back({"backends", key_schema(one.keys.back())});
        } else if (one.name.find('.') == std::string::npos) {
            const std::string name = one.name.substr(1, one.name.size() - 2);
            properties.push_back({name, table_schema(one, name == "heal" ? heal_members(taxonomy, vocabulary)
                                                          : name == "expect" ? expect_members()
                                                                             : JsonMembers{})});
        }
    }
    JsonMembers definitions = type_definitions();
    definitions.push_back({"when", table(parameter_properties(trigger_parameters()), {},
                                         "when it acts, on each of its ranks")});
    return json_indented(
        json_object({{"$schema", json_string("http://json-schema.org/draft-07/schema#")},
                     {"title", json_string("deadrank scenario")},
                     {"type", json_string("object")},
                     {"properties", json_object(properties)},
                     {"required", json_strings({"format", "bug", "expect"})},
                     {"anyOf", json_list({json_object({{"required", json_strings({"workload", "fault"})}}),
                                          json_object({{"required", json_strings({"release"})}})})},
                     {"additionalProperties", "false"},
                     {"definitions", json_object(definitions)}}));
}

// ── What setting_reader accepts, as a schema for editors.

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

// ── Escapes and indentation.

std::string json_string(std::string_view text) {
    std::string out = "\"";
    for (const char letter : text) {
        const auto code = static_cast<unsigned char>(letter);
        if (letter == '"' || letter == '\\') {
            out += '\\';
            out += letter;
        } else if (code < 0x20) {
            out += fmt::format("\\u{:04x}", code);
        } else {
            out += letter;
        }
    }
    return out + '"';
}

std::string json_object(const JsonMembers& members) {
    std::string out;
    for (const auto& [name, json] : members) out += (out.empty() ? "" : ",") + json_string(name) + ":" + json;
    return "{" + out + "}";
}

std::string json_list(const std::vector<std::string>& items) {
    std::string out;
    for (const std::string& item : items) out += (out.empty() ? "" : ",") + item;
    return "[" + out + "]";
}

std::string json_strings(const std::vector<std::string>& texts) {
    std::vector<std::string> items;
    for (const std::string& text : texts) items.push_back(json_string(text));
    return json_list(items);
}

std::string json_indented(std::string_view json) {
    std::string out;
    std::size_t depth = 0;
    bool quoted = false;
    const auto line = [&] { out += "\n" + std::string(2 * depth, ' '); };
    for (std::size_t i = 0; i < json.size(); ++i) {
        const char letter = json[i];
        if (quoted) {
            out += letter;
            if (letter == '\\') out += json[++i];
            quoted = letter != '"';
            continue;
        }
        quoted = letter == '"';
        if (letter == '}' || letter == ']') {
            --depth;
            if (i > 0 && json[i - 1] != '{' && json[i - 1] != '[') line();
        }
        out += letter;
        if (letter == ':') out += ' ';
        if (letter == '{' || letter == '[') ++depth;
        const bool filled = i + 1 < json.size() && json[i + 1] != '}' && json[i + 1] != ']';
        if (letter == ',' || ((letter == '{' || letter == '[') && filled)) line();
    }
    return out + "\n";
}

}  // namespace deadrank::scenarios
