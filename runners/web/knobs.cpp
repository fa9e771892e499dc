// runners/web/knobs.cpp — The settings of a scenario that a person may turn, and how its text changes when
// they do.
#include "runners/web/knobs.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "scenarios/model/document.h"
#include "scenarios/model/text.h"
#include "scenarios/model/toml_text.h"

namespace deadrank::runners::web {

using scenarios::ErrorCode;
using scenarios::Node;
using scenarios::refuse;
using scenarios::Result;

// ── Where a value is in the text. Places count lines and letters from 1; a letter may be several bytes.

namespace {

struct Span {
    std::size_t begin = 0, end = 0;
};

std::size_t offset_of(std::string_view text, const scenarios::Place& place) {
    std::size_t at = 0;
    for (int line = 1; line < place.line && at < text.size(); ++line) {
        const std::size_t end = text.find('\n', at);
        at = end == std::string_view::npos ? text.size() : end + 1;
    }
    for (int column = 1; column < place.column && at < text.size(); ++column) {
        ++at;
        while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
    }
    return at;
}

// Behind a quoted text that begins at `at`.
std::size_t end_of_quoted(std::string_view text, std::size_t at) {
    const char quote = text[at];
    const std::string three(3, quote);
    if (text.substr(at, 3) == three) {
        const std::size_t end = text.find(three, at + 3);
        return end == std::string_view::npos ? text.size() : end + 3;
    }
    for (std::size_t i = at + 1; i < text.size(); ++i) {
        if (text[i] == '\\' && quote == '"') {
            ++i;
        } else if (text[i] == quote) {
            return i + 1;
        }
    }
    return text.size();
}

// Behind a value of any kind that begins at `at`.
std::size_t end_of_value(std::string_view text, std::size_t at) {
    constexpr std::string_view ends_scalar = ",\n\r#]}";
    int depth = 0;
    while (at < text.size()) {
        const char letter = text[at];
        if (letter == '"' || letter == '\'') {
            at = end_of_quoted(text, at);
            if (depth == 0) return at;
            continue;
        }
        if (depth == 0 && ends_scalar.find(letter) != std::string_view::npos) return at;
        if (letter == '#') {
            at = std::min(text.find('\n', at), text.size());
            continue;
        }
        if (letter == '[' || letter == '{') ++depth;
        ++at;
        if ((letter == ']' || letter == '}') && --depth == 0) return at;
    }
    return at;
}

Span span_of(std::string_view text, const Node& node) {
    const std::size_t begin = offset_of(text, node.place);
    std::size_t end = end_of_value(text, begin);
    while (end > begin && (text[end - 1] == ' ' || text[end - 1] == '\t')) --end;
    return {begin, end};
}

// Where a path leads: the innermost table that is written as one, the rest of the path, and the value if it
// is there. Of `link.latency = "5us"` below [cluster] the table is [cluster], and the rest is link.latency.
struct Found {
    const Node* table = nullptr;
    const scenarios::Member* member = nullptr;
    std::string rest;            // "link.latency" of [cluster] where there is no `link`
    std::string missing_table;   // "[cluster]" if the file has none
    std::string missing_inline;  // "when" if the fault has none
};

std::string_view part_of(std::string_view& path) {
    const std::size_t dot = path.find('.');
    const std::string_view part = path.substr(0, dot);
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
    return part;
}

void descend(Found& found, std::string_view text, std::string_view path) {
    const Node* table = found.table;
    found.rest = path;
    while (!path.empty()) {
        std::string_view rest = path;
        const scenarios::Member* member = table->find(part_of(rest));
        if (!member) return;
        if (rest.empty() || !member->value.is(Node::Kind::table)) {
            if (rest.empty()) found.member = member;
            return;
        }
        table = &member->value;
        path = rest;
        const std::size_t at = offset_of(text, table->place);
        if (at >= text.size() || (text[at] != '[' && text[at] != '{')) continue;
        found.table = table;
        found.rest = path;
    }
}

Result<Found> find_path(const Node& document, std::string_view text, std::string_view path) {
    const std::string whole(path);
    const auto none = [&] {
        return refuse(ErrorCode::usage, fmt::format("the scenario has no '{}'", whole),
                      "take a path from the list of settings");
    };
    Found found;
    const std::string_view head = part_of(path);
    if (path.empty()) return none();
    if (head == "cluster" || head == "workload") {
        const scenarios::Member* table = document.find(head);
        if (table && !table->value.is(Node::Kind::table)) return none();
        found.table = table ? &table->value : nullptr;
        found.rest = path;
        if (!table) found.missing_table = head;
        if (table) descend(found, text, path);
        return found;
    }
    if (head != "fault") return none();
    const auto number = scenarios::parse_whole(part_of(path));
    const Node& faults = document["fault"];
    if (!number || *number < 0 || static_cast<std::size_t>(*number) >= faults.items.size() || path.empty())
        return none();
    found.table = &faults.items[static_cast<std::size_t>(*number)];
    std::string_view rest = path;
    if (part_of(rest) == "when" && !rest.empty()) {
        const scenarios::Member* when = found.table->find("when");
        if (!when) {
            found.missing_inline = "when";
            found.rest = rest;
            return found;
        }
        found.table = &when->value;
        path = rest;
    }
    descend(found, text, path);
    return found;
}

bool is_table_text(std::string_view text) {
    return !text.empty() && (text.front() == '[' || text.front() == '{');
}

std::string toml_of(std::string_view typed) {
    const std::string text(scenarios::trimmed(typed));
    if (text == "true" || text == "false" || scenarios::parse_whole(text) || is_table_text(text)) return text;
    if (text.size() > 1 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front())
        return text;
    return scenarios::toml_text(text);
}

// A key as a line may begin with: dots stay, since they name tables.
bool is_key(std::string_view key) {
    return !key.empty() && std::all_of(key.begin(), key.end(), [](unsigned char letter) {
        return std::isalnum(letter) != 0 || letter == '_' || letter == '-' || letter == '.';
    });
}

// The beginning of the line behind the one that holds `at`.
std::size_t next_line(std::string_view text, std::size_t at) {
    const std::size_t end = text.find('\n', at);
    return end == std::string_view::npos ? text.size() : end + 1;
}

std::string with_new(std::string text, const Found& found, const std::string& value) {
    if (!found.missing_table.empty()) {
        if (!text.empty() && text.back() != '\n') text += '\n';
        return text + fmt::format("\n[{}]\n{} = {}\n", found.missing_table, found.rest, value);
    }
    const std::size_t at = offset_of(text, found.table->place);
    if (text[at] == '{') {
        const bool alone = found.table->members.empty();
        return text.insert(at + 1, fmt::format(" {} = {}{}", found.rest, value, alone ? " " : ","));
    }
    const std::string line =
        found.missing_inline.empty()
            ? fmt::format("{} = {}\n", found.rest, value)
            : fmt::format("{} = {{ {} = {} }}\n", found.missing_inline, found.rest, value);
    std::size_t behind = next_line(text, at);
    if (behind == text.size() && !text.empty() && text.back() != '\n') {
        text += '\n';
        behind = text.size();
    }
    return text.insert(behind, line);
}

// Takes a member out: its line, or its part of an inline table.
std::string without(std::string text, const scenarios::Member& member) {
    const std::size_t begin = offset_of(text, member.place);
    std::size_t end = span_of(text, member.value).end;
    const std::size_t line = text.rfind('\n', begin) + 1;  // npos + 1 is 0
    if (text.find_first_not_of(" \t", line) == begin) return text.erase(line, next_line(text, end) - line);
    const std::size_t behind = text.find_first_not_of(" \t", end);
    if (behind != std::string::npos && text[behind] == ',') {
        end = text.find_first_not_of(" \t", behind + 1);
        return text.erase(begin, end - begin);
    }
    const std::size_t before = text.find_last_not_of(" \t", begin - 1);
    const std::size_t from = before != std::string::npos && text[before] == ',' ? before : begin;
    return text.erase(from, end - from);
}

}  // namespace

Result<std::string> set_in_text(std::string_view text, std::string_view path, std::string_view value) {
    const auto document = scenarios::parse_document(text, "scenario.toml");
    if (!document) return tl::unexpected(document.error());
    const auto found = find_path(*document, text, path);
    if (!found) return tl::unexpected(found.error());
    if (found->member && found->member->value.is(Node::Kind::table))
        return refuse(ErrorCode::usage, fmt::format("'{}' is a table", path), "name one of its settings");
    const bool remove = scenarios::trimmed(value).empty();
    std::string changed(text);
    if (remove && !found->member) return changed;
    if (remove) {
        changed = without(changed, *found->member);
    } else if (found->member) {
        const Span span = span_of(text, found->member->value);
        changed.replace(span.begin, span.end - span.begin, toml_of(value));
    } else {
        if (!is_key(found->rest)) {
            return refuse(ErrorCode::usage, fmt::format("'{}' is not the name of a setting", found->rest),
                          "take a path from the list of settings");
        }
        changed = with_new(changed, *found, toml_of(value));
    }
    if (!scenarios::parse_document(changed, "scenario.toml")) {
        return refuse(ErrorCode::usage, fmt::format("'{}' is no value for {}", value, path),
                      "write a number, a text, true or false, or a list [0, 1]");
    }
    return changed;
}

// ── The list, from the declared parameters, the file and its plan.

namespace {

constexpr std::size_t value_most = 120;  // letters; a longer value, such as a program, is no knob

class KnobList {
public:
    KnobList(std::string_view text, const Node& document) : text_(text), document_(document) {}

    void add(const std::string& path, const std::string& part, const scenarios::Parameter& parameter,
             const std::string& value) {
        if (parameter.type == scenarios::ValueType::table || value.size() > value_most ||
            value.find('\n') != std::string::npos)
            return;
        Knob knob{.path = path + "." + parameter.name,
                  .part = part,
                  .name = parameter.name,
                  .what = parameter.what,
                  .type = scenarios::type_phrase(parameter.type),
                  .value = value,
                  .choices = parameter.choices};
        if (parameter.type == scenarios::ValueType::boolean) knob.choices = {"true", "false"};
        if (const auto found = find_path(document_, text_, knob.path); found && found->member) {
            const Span span = span_of(text_, found->member->value);
            knob.written = std::string(text_.substr(span.begin, span.end - span.begin));
        }
        knobs_.push_back(std::move(knob));
    }

    void add_all(const std::string& path, const std::string& part,
                 const std::vector<scenarios::Parameter>& parameters, const scenarios::Values& values) {
        for (const scenarios::Parameter& parameter : parameters) {
            const auto found = values.find(parameter.name);
            add(path, part, parameter, found == values.end() ? "" : scenarios::value_text(found->second));
        }
    }

    std::vector<Knob> take() { return std::move(knobs_); }

private:
    std::string_view text_;
    const Node& document_;
    std::vector<Knob> knobs_;
};

std::string trigger_value(const scenarios::Trigger& when, const std::string& name) {
    const auto number = [](std::int64_t value) { return value < 0 ? "" : std::to_string(value); };
    const auto time = [](std::int64_t value) {
        return value < 0 ? "" : scenarios::quantity_text(scenarios::ValueType::duration, value);
    };
    const auto flag = [](bool value) { return value ? "true" : "false"; };
    if (name == "start") return flag(when.at_start);
    if (name == "at") return time(when.at);
    if (name == "step") return number(when.step);
    if (name == "phase") return when.phase;
    if (name == "before") return when.before;
    if (name == "comm") return when.comm;
    if (name == "nth") return number(when.nth);
    if (name == "always") return flag(when.always);
    if (name == "until_step") return number(when.until_step);
    return name == "lasts" ? time(when.lasts) : "";
}

}  // namespace

std::vector<Knob> list_knobs(const scenarios::Scenario& scenario, const scenarios::Plan& plan,
                             std::string_view text, const scenarios::Vocabulary& vocabulary) {
    const auto document = scenarios::parse_document(text, scenario.file.string());
    if (!document) return {};
    KnobList list(text, *document);
    const std::size_t faults = std::min((*document)["fault"].items.size(), plan.faults.size());
    for (std::size_t i = 0; i < faults; ++i) {
        const scenarios::FaultSpec& fault = plan.faults[i];
        const std::string path = fmt::format("fault.{}", i);
        if (const scenarios::Kind* kind = vocabulary.fault(fault.kind))
            list.add_all(path, "fault " + fault.kind, kind->parameters, fault.parameters);
        for (const scenarios::Parameter& parameter : scenarios::trigger_parameters())
            list.add(path + ".when", "when " + fault.kind, parameter,
                     trigger_value(fault.when, parameter.name));
    }
    if (const scenarios::Kind* kind = vocabulary.workload(plan.workload_kind))
        list.add_all("workload", "workload " + plan.workload_kind, kind->parameters, plan.workload);
    list.add_all("cluster", "cluster", scenarios::cluster_parameters(), plan.cluster);
    return list.take();
}

}  // namespace deadrank::runners::web
