// scenarios/format/schema.cpp — The JSON schema of scenario files, for editors.
#include "scenarios/format/schema.h"

#include <algorithm>
#include <fmt/format.h>

#include "scenarios/format/parts.h"
#include "scenarios/model/plan.h"

namespace deadrank::scenarios {

// One schema a table of the file; kinds are alternatives told apart by their `kind`.

namespace {

std::string described(std::string_view what) {
    return json_object({{"type", json_string("string")}, {"description", json_string(what)}});
}

std::string texts(std::string_view what) {
    return json_object({{"type", json_strings({"string", "array"})},
                        {"items", json_object({{"type", json_string("string")}})},
                        {"description", json_string(what)}});
}

std::string one_of(const std::vector<std::string>& words, std::string_view what) {
    return json_object({{"enum", json_strings(words)}, {"description", json_string(what)}});
}

std::string some_of(const std::vector<std::string>& words, std::string_view what) {
    const std::string one = json_object({{"enum", json_strings(words)}});
    const std::string list = json_object({{"type", json_string("array")}, {"items", one}});
    return json_object({{"anyOf", json_list({one, list})}, {"description", json_string(what)}});
}

std::string table(JsonMembers properties, std::vector<std::string> required, std::string_view what) {
    return json_object({{"type", json_string("object")},
                        {"description", json_string(what)},
                        {"properties", json_object(properties)},
                        {"required", json_strings(required)},
                        {"additionalProperties", "false"}});
}

std::string bug(const Taxonomy& taxonomy) {
    return table(
        {{"stage", one_of(ids(taxonomy.stages), "the stage it belongs to; the file lies in its directory")},
         {"symptom", one_of(ids(taxonomy.symptoms), "what an observer sees")},
         {"cause", one_of(ids(taxonomy.causes), "the root cause")},
         {"fix", one_of(ids(taxonomy.fixes), "the fix pattern; [heal] applies it")},
         {"replays", texts("public reports: \"owner/repo#123\", \"owner/repo@commit\" or \"study: …\"")}},
        {"stage", "symptom", "cause", "fix"}, "the bug, in words of the taxonomy");
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
        properties.push_back({"when", json_object({{"$ref", json_string("#/definitions/when")}})});
    }
    return table(std::move(properties), required_of(kind), kind.what);
}

std::string kinds_schema(const std::vector<Kind>& kinds, bool with_when) {
    std::vector<std::string> alternatives;
    for (const Kind& kind : kinds) alternatives.push_back(kind_schema(kind, with_when));
    return json_object({{"oneOf", json_list(alternatives)}});
}

std::string expectation(const Taxonomy& taxonomy, std::string_view what, bool may_be_silent = false) {
    std::vector<std::string> symptoms = ids(taxonomy.symptoms);
    std::vector<std::string> others = symptoms;
    others.insert(others.begin(), "none");
    const std::string ranks = parameter_schema(
        {.name = "ranks", .type = ValueType::ranks, .what = "instead of the fault's own ranks"});
    const std::string duration = parameter_schema(
        {.name = "within", .type = ValueType::duration, .what = "after the fault, in the run's own time"});
    std::vector<std::string> due = symptoms;
    if (may_be_silent) due.insert(due.begin(), std::string(no_symptom));
    return table({{"symptom", one_of(due, "what must be noticed; the bug's own where it is absent")},
                  {"blames", some_of(blame_words(), "what of the truth the finding must name")},
                  {"rank", ranks},
                  {"ranks", ranks},
                  {"step", json_object({{"type", json_string("integer")}, {"minimum", "0"}})},
                  {"within", duration},
                  {"others", some_of(others, "\"none\", or further symptoms that are right to report")},
                  {"also", some_of(symptoms, "further symptoms that are right to report")},
                  {"reaction", one_of(reaction_words(), "how the job must react")},
                  {"recovers_within", duration},
                  {"unseen", described("why no evidence can show this bug; silence is then right")},
                  {"because", table({{"blames", described("why nobody can be named")},
                                     {"reaction", described("why any reaction is accepted")},
                                     {"within", described("why it takes so long")}},
                                    {}, "why it asks for less than it could")}},
                 {}, what);
}

std::string heal_schema(const Taxonomy& taxonomy, const Vocabulary& vocabulary) {
    JsonMembers settings;  // of all workloads: which one runs is said elsewhere in the file
    for (const Kind& kind : vocabulary.workloads) {
        for (auto& member : parameter_properties(kind.parameters)) {
            bool known = false;
            for (const auto& old : settings) known = known || old.first == member.first;
            if (!known) settings.push_back(std::move(member));
        }
    }
    const std::string change = json_object(
        {{"type", json_string("object")},
         {"description", json_string("parameters and `when` that the fix lays over a fault, which stays")},
         {"properties",
          json_object({{"fault", json_object({{"type", json_string("integer")},
                                              {"description", json_string("which [[fault]], from 1")}})}})}});
    return table(
        {{"fault",
          some_of({"none", "keep"}, "whether the faults are gone or stay: once for all, or one by one")},
         {"says", described("one sentence: what the fix does")},
         {"as_control", described("why the healed run is the control again")},
         {"change", json_object({{"type", json_string("array")}, {"items", change}})},
         {"expect",
          expectation(taxonomy, "what is due with the fix in place; without it silence, and the job finishes",
                      true)},
         {"cluster", table(parameter_properties(cluster_parameters()), {}, "settings that the fix changes")},
         {"workload", table(std::move(settings), {}, "settings that the fix changes")}},
        {}, "the fix; the healed run must be silent and complete, unless [heal.expect] says otherwise");
}

std::string teach() {
    return table({{"title", described("a name for the lesson")},
                  {"sees", described("what the learner sees first")},
                  {"question", described("what the learner is asked")},
                  {"hints", texts("one after the other, when asked for")},
                  {"answer", described("what it was")},
                  {"why", described("why the fix works")}},
                 {}, "the story, for `deadrank learn`");
}

std::string parity() {
    JsonMembers backends;
    for (const std::string& backend : backend_words()) {
        backends.push_back({backend, described("why its findings differ from the simulator's")});
    }
    return table(std::move(backends), {}, "where backends are known to differ");
}

}  // namespace

std::string editor_schema(const Taxonomy& taxonomy, const Vocabulary& vocabulary) {
    const std::string faults = json_object({{"type", json_string("array")},
                                            {"minItems", "1"},
                                            {"items", kinds_schema(vocabulary.faults, true)}});
    const JsonMembers properties = {
        {"format", json_object({{"const", "1"}, {"description", json_string("version of this format")}})},
        {"backends", some_of(backend_words(), "where it can be played; absent = the simulator")},
        {"bug", bug(taxonomy)},
        {"cluster", table(parameter_properties(cluster_parameters()), {}, "the machines")},
        {"workload", kinds_schema(vocabulary.workloads, false)},
        {"fault", faults},
        {"expect", expectation(taxonomy, "what must be noticed, about whom and how soon")},
        {"heal", heal_schema(taxonomy, vocabulary)},
        {"teach", teach()},
        {"parity", parity()}};
    JsonMembers definitions = type_definitions();
    definitions.push_back({"when", table(parameter_properties(trigger_parameters()), {},
                                         "when it acts, on each of its ranks")});
    return json_indented(
        json_object({{"$schema", json_string("http://json-schema.org/draft-07/schema#")},
                     {"title", json_string("deadrank scenario")},
                     {"type", json_string("object")},
                     {"properties", json_object(properties)},
                     {"required", json_strings({"format", "bug", "workload", "fault", "expect"})},
                     {"additionalProperties", "false"},
                     {"definitions", json_object(definitions)}}));
}

// What setting_reader accepts, said to an editor.

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

// Escapes and indentation.

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
