// scenarios/setting_reader.cpp — From TOML nodes to settings.
#include "scenarios/setting_reader.h"

#include <algorithm>
#include <fmt/format.h>

namespace deadrank::scenarios {

namespace {

bool is_list(ValueType type) { return type == ValueType::ranks || type == ValueType::nodes; }

bool all_digits(std::string_view text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool starts(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }

std::optional<Value> read_scalar(const toml::node& node, const Parameter& parameter, Problems& problems) {
    std::string text;
    if (!scalar_text(node, text)) {
        problems.add(node, fmt::format("'{}' is {}, not a {}", parameter.name, kind_of(node),
                                       type_name(parameter.type)));
        return {};
    }
    auto value = parse_value(parameter.type, text);
    if (!value) {
        problems.add(Error{ErrorCode::bad_input,
                           fmt::format("'{}': {}", parameter.name, value.error().what),
                           value.error().remedy,
                           {}},
                     node);
        return {};
    }
    if (parameter.type == ValueType::choice && std::find(parameter.choices.begin(), parameter.choices.end(),
                                                         value->text) == parameter.choices.end()) {
        const std::string near = nearest(value->text, parameter.choices);
        std::string list;
        for (const std::string& choice : parameter.choices) list += (list.empty() ? "" : ", ") + choice;
        problems.add(node, fmt::format("'{}' cannot be '{}'", parameter.name, value->text),
                     near.empty() ? "known are " + list : fmt::format("did you mean '{}'?", near));
        return {};
    }
    return std::move(*value);
}

std::optional<Value> read_list(const toml::array& list, const Parameter& parameter, Problems& problems) {
    Value value{.type = parameter.type};
    for (const toml::node& item : list) {
        const auto* number = item.as_integer();
        if (!number || number->get() < 0) {
            problems.add(item,
                         fmt::format("'{}' holds {}, not a number from 0", parameter.name, kind_of(item)));
            return {};
        }
        value.list.push_back(number->get());
    }
    std::sort(value.list.begin(), value.list.end());
    if (std::adjacent_find(value.list.begin(), value.list.end()) != value.list.end()) {
        problems.add(list, fmt::format("'{}' names one twice", parameter.name));
    }
    return value;
}

std::optional<Value> read_table(const toml::table& table, const Parameter& parameter, Problems& problems) {
    Value value{.type = ValueType::table};
    for (const auto& [key, node] : table) {
        std::string text;
        if (!scalar_text(node, text)) {
            problems.add(node,
                         fmt::format("'{}.{}' is {}, not a text", parameter.name, key.str(), kind_of(node)));
            continue;
        }
        value.table.emplace(key.str(), text);
    }
    return value;
}

}  // namespace

bool is_selector(std::string_view text) {
    if (text == "any" || text == "all" || text == "first" || text == "last" || text == "others" ||
        text == "same" || text == "any node" || text == "last node" || text == "first node") {
        return true;
    }
    for (const std::string_view head : {"any but ", "any ", "node ", "all but "}) {
        if (starts(text, head)) return all_digits(text.substr(head.size()));
    }
    return false;
}

Setting read_setting(const toml::node& node, const Parameter& parameter, Problems& problems) {
    Setting setting;
    setting.place = problems.place(node);
    if (is_list(parameter.type)) {
        if (const auto* text = node.as_string()) {
            if (!is_selector(text->get())) {
                problems.add(node, fmt::format("'{}' cannot be \"{}\"", parameter.name, text->get()),
                             "write a number, a list, \"any\", \"any 2\", \"any but 0\", \"all\", \"all but "
                             "0\", \"first\", \"last\", "
                             "\"node 1\", \"any node\", \"others\" or \"same\"");
            }
            setting.selector = text->get();
            return setting;
        }
        toml::array one_item;
        if (const auto* number = node.as_integer()) one_item.push_back(number->get());
        const toml::array* list = node.is_integer() ? &one_item : node.as_array();
        if (!list) {
            problems.add(node, fmt::format("'{}' is {}, not a {}", parameter.name, kind_of(node),
                                           type_name(parameter.type)));
        } else if (auto value = read_list(*list, parameter, problems)) {
            setting.options.push_back(std::move(*value));
        }
        return setting;
    }
    if (parameter.type == ValueType::table) {
        if (const auto* table = node.as_table()) {
            if (auto value = read_table(*table, parameter, problems))
                setting.options.push_back(std::move(*value));
        } else {
            problems.add(node, fmt::format("'{}' is {}, not a table", parameter.name, kind_of(node)),
                         "write { NAME = \"value\" }");
        }
        return setting;
    }
    if (const auto* choices = node.as_array()) {
        for (const toml::node& item : *choices) {
            if (auto value = read_scalar(item, parameter, problems))
                setting.options.push_back(std::move(*value));
        }
        if (choices->empty())
            problems.add(node, fmt::format("'{}' has nothing to choose from", parameter.name));
        return setting;
    }
    const auto* text = node.as_string();
    const auto dots = text ? text->get().find("..") : std::string::npos;
    const bool ranged = parameter.type != ValueType::text && parameter.type != ValueType::choice &&
                        parameter.type != ValueType::boolean;
    if (ranged && dots != std::string::npos) {
        auto low = parse_value(parameter.type, std::string_view(text->get()).substr(0, dots));
        auto high = parse_value(parameter.type, std::string_view(text->get()).substr(dots + 2));
        if (!low || !high) {
            problems.add(node, fmt::format("'{}' cannot be \"{}\"", parameter.name, text->get()),
                         "a range is \"3..9\", both ends included");
        } else if (low->number > high->number) {
            problems.add(node, fmt::format("'{}' is an empty range: {}", parameter.name, text->get()),
                         "write the smaller end first");
        } else {
            setting.range.emplace(std::move(*low), std::move(*high));
        }
        return setting;
    }
    if (auto value = read_scalar(node, parameter, problems)) setting.options.push_back(std::move(*value));
    return setting;
}

Settings read_settings(TomlReader& reader, const std::vector<Parameter>& parameters, Problems& problems) {
    Settings settings;
    std::map<std::string, TomlReader> nested;
    for (const Parameter& parameter : parameters) {
        const auto dot = parameter.name.find('.');
        const toml::node* node = nullptr;
        if (dot == std::string::npos) {
            node = reader.find(parameter.name);
        } else {
            const std::string outer = parameter.name.substr(0, dot);
            if (!nested.count(outer)) {
                if (const toml::table* table = reader.table(outer))
                    nested.emplace(outer, TomlReader(*table, outer, problems));
            }
            const auto inner = nested.find(outer);
            if (inner != nested.end()) node = inner->second.find(parameter.name.substr(dot + 1));
        }
        if (node) settings.emplace(parameter.name, read_setting(*node, parameter, problems));
    }
    for (auto& [name, inner] : nested) inner.refuse_the_rest();
    return settings;
}

}  // namespace deadrank::scenarios
