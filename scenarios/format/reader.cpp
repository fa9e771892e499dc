// scenarios/format/reader.cpp — Keys that were asked for, keys that are refused, and the messages about them.
#include "scenarios/format/reader.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "scenarios/model/error.h"
#include "scenarios/model/value.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::scenarios {

void Problems::add(const Place& place, std::string what, std::string remedy) {
    errors_.push_back({ErrorCode::bad_input, std::move(what), std::move(remedy), place});
}

std::vector<Error> Problems::sorted() const {
    std::vector<Error> errors = errors_;
    std::stable_sort(errors.begin(), errors.end(), [](const Error& a, const Error& b) {
        return std::pair(a.place.line, a.place.column) < std::pair(b.place.line, b.place.column);
    });
    return errors;
}

Error joined(const std::vector<Error>& errors) {
    CHECK(!errors.empty());
    Error all = errors.front();
    for (std::size_t i = 1; i < errors.size(); ++i) {
        (all.remedy.empty() ? all.what : all.remedy) += "\n" + errors[i].text();
    }
    return all;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& known) {
    constexpr std::size_t most_shown = 12;
    if (known.empty()) return "there is none to name";
    const std::string near = nearest(word, known);
    if (!near.empty()) return fmt::format("did you mean '{}'?", near);
    if (known.size() <= most_shown) return fmt::format("known are {}", fmt::join(known, ", "));
    const std::vector<std::string> shown(known.begin(), known.begin() + most_shown);
    return fmt::format("known are {} and {} more", fmt::join(shown, ", "), known.size() - most_shown);
}

void Reader::complain(const Node& node, std::string_view key, std::string_view wanted, std::string remedy) {
    problems_.add(node.place, fmt::format("'{}' in {} is {}, not {}", key, name_, kind_name(node), wanted),
                  std::move(remedy));
}

const Node* Reader::find(std::string_view key) {
    know(key);
    const Member* member = table_.find(key);
    return member ? &member->value : nullptr;
}

const Node* Reader::table(std::string_view key) {
    const Node* node = find(key);
    if (!node || node->is(Node::Kind::table)) return node;
    complain(*node, key, "a table", fmt::format("write [{}]", key));
    return nullptr;
}

std::vector<const Node*> Reader::tables(std::string_view key) {
    std::vector<const Node*> found;
    const Node* node = find(key);
    if (!node) return found;
    if (!node->is(Node::Kind::list)) {
        complain(*node, key, "a list of tables", fmt::format("write [[{}]]", key));
        return found;
    }
    for (const Node& item : node->items) {
        if (item.is(Node::Kind::table)) {
            found.push_back(&item);
        } else {
            complain(item, key, "a table", fmt::format("write [[{}]]", key));
        }
    }
    return found;
}

std::string Reader::text(std::string_view key) {
    const Node* node = find(key);
    if (!node) return {};
    if (node->is(Node::Kind::text)) return node->text;
    complain(*node, key, "a text", "put it in quotes");
    return {};
}

std::string Reader::required_text(std::string_view key) {
    const std::string found = text(key);
    if (!table_.find(key)) {
        problems_.add(table_.place, fmt::format("{} lacks '{}'", name_, key),
                      fmt::format("add {} = \"…\"", key));
    }
    return found;
}

std::string Reader::one_of(std::string_view key, const std::vector<std::string>& known,
                           std::string otherwise) {
    const Node* node = find(key);
    const std::string found = text(key);
    if (!node || !node->is(Node::Kind::text)) return otherwise;
    if (std::find(known.begin(), known.end(), found) != known.end()) return found;
    problems_.add(node->place, fmt::format("there is no {} '{}'", key, found), suggestion(found, known));
    return otherwise;
}

std::vector<std::string> Reader::texts(std::string_view key) {
    const Node* node = find(key);
    if (!node) return {};
    if (node->is(Node::Kind::text)) return {node->text};
    std::vector<std::string> found;
    if (!node->is(Node::Kind::list)) complain(*node, key, "a list of texts", "write [\"…\", \"…\"]");
    for (const Node& item : node->items) {
        if (item.is(Node::Kind::text)) {
            found.push_back(item.text);
        } else {
            complain(item, key, "a text", "put it in quotes");
        }
    }
    return found;
}

std::int64_t Reader::integer(std::string_view key, std::int64_t otherwise) {
    const Node* node = find(key);
    if (!node) return otherwise;
    if (node->is(Node::Kind::integer)) return node->integer;
    complain(*node, key, "an integer");
    return otherwise;
}

bool Reader::flag(std::string_view key, bool otherwise) {
    const Node* node = find(key);
    if (!node) return otherwise;
    if (node->is(Node::Kind::boolean)) return node->integer != 0;
    complain(*node, key, "true or false");
    return otherwise;
}

std::int64_t Reader::duration(std::string_view key, std::int64_t otherwise) {
    const Node* node = find(key);
    if (!node) return otherwise;
    if (!node->is(Node::Kind::text)) {
        complain(*node, key, "a duration", "write a number and its unit in quotes: \"30s\"");
        return otherwise;
    }
    const auto value = parse_value(ValueType::duration, node->text);
    if (value && value->number > 0) return value->number;
    problems_.add(node->place, value ? Error{.what = fmt::format("'{}' cannot be {}", key, node->text),
                                             .remedy = "write a time above zero"}
                                     : value.error());
    return otherwise;
}

void Reader::refuse_unknown_keys() {
    const std::vector<std::string> known(asked_.begin(), asked_.end());
    for (const Member& member : table_.members) {
        if (asked_.count(member.key) > 0) continue;
        std::string remedy = elsewhere_ ? elsewhere_(member.key) : "";
        if (remedy.empty()) remedy = suggestion(member.key, known);
        problems_.add(member.place, fmt::format("unknown key '{}' in {}", member.key, name_),
                      std::move(remedy));
    }
}

}  // namespace deadrank::scenarios
