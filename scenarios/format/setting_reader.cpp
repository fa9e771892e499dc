// scenarios/format/setting_reader.cpp — Which TOML forms each type takes; a list is a choice, except of ranks
// and nodes.
#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "scenarios/format/scenario_tables.h"
#include "scenarios/model/selector.h"

namespace deadrank::scenarios {

namespace {

bool is_number(ValueType type) {
    return !counts_members(type) && type != ValueType::boolean && type != ValueType::text &&
           type != ValueType::choice && type != ValueType::table;
}

// How a value of this type is written.
std::string form(ValueType type) {
    switch (type) {
        case ValueType::boolean:
            return "write true or false, without quotes";
        case ValueType::integer:
            return "write a whole number without quotes, or a range \"3..9\"";
        case ValueType::text:
        case ValueType::choice:
            return "put it in quotes";
        case ValueType::duration:
            return "write a number and its unit in quotes: \"30s\"";
        case ValueType::bytes:
            return "write a number and its unit in quotes: \"64KiB\"";
        case ValueType::rate:
            return "write a number and its unit in quotes: \"100Gbps\"";
        case ValueType::ratio:
            return "write \"1/10000\" or \"0.1%\"";
        case ValueType::factor:
            return "write \"1.5x\" or a number";
        case ValueType::ranks:
        case ValueType::nodes:
            return "write a number, a list of numbers, or words such as \"any 2\" and \"node 1 and node 2\"";
        case ValueType::table:
            return "write { NAME = \"value\" }";
    }
    return {};
}

// Does a value of this type come in this TOML form?
bool takes(ValueType type, Node::Kind kind) {
    switch (type) {
        case ValueType::boolean:
            return kind == Node::Kind::boolean;
        case ValueType::integer:
            return kind == Node::Kind::integer;
        case ValueType::text:
            return kind == Node::Kind::text || kind == Node::Kind::integer;
        case ValueType::ratio:
        case ValueType::factor:
            return kind == Node::Kind::text || kind == Node::Kind::integer || kind == Node::Kind::fraction;
        case ValueType::table:
            return kind == Node::Kind::table;
        default:
            return kind == Node::Kind::text;
    }
}

class SettingReader {
public:
    SettingReader(const Parameter& parameter, Problems& problems)
        : parameter_(parameter), problems_(problems) {}

    Setting read(const Node& node) {
        Setting setting{.place = node.place};
        if (counts_members(parameter_.type)) {
            read_members(node, setting);
        } else if (node.is(Node::Kind::list)) {
            for (const Node& item : node.items) read_option(item, setting);
            if (node.items.empty()) complain(node, "has nothing to choose from", "put values into the list");
        } else if (is_number(parameter_.type) && node.text.find("..") != std::string::npos) {
            read_range(node, setting);
        } else {
            read_option(node, setting);
        }
        return setting;
    }

private:
    void complain(const Node& node, std::string_view what, std::string remedy) {
        problems_.add(node.place, fmt::format("'{}' {}", parameter_.name, what), std::move(remedy));
    }

    void complain_of_form(const Node& node) {
        complain(node, fmt::format("is {}, not {}", kind_name(node), type_phrase(parameter_.type)),
                 form(parameter_.type));
    }

    bool parse(const Node& node, std::string_view text, Value& value) {
        auto parsed = parse_value(parameter_.type, text);
        if (!parsed) {
            complain(node, "cannot be that: " + parsed.error().what, parsed.error().remedy);
            return false;
        }
        if (is_number(parameter_.type) && parsed->number < parameter_.least) {
            const Value least{.type = parameter_.type, .number = parameter_.least};
            complain(node, fmt::format("cannot be {}", text),
                     fmt::format("the least is {}", value_text(least)));
            return false;
        }
        value = std::move(*parsed);
        return true;
    }

    void read_option(const Node& node, Setting& setting) {
        if (!takes(parameter_.type, node.kind)) return complain_of_form(node);
        Value value;
        if (parameter_.type == ValueType::table) {
            if (!read_table(node, value)) return;
        } else if (!parse(node, node.text, value)) {
            return;
        }
        const auto& choices = parameter_.choices;
        if (!choices.empty() && std::find(choices.begin(), choices.end(), value.text) == choices.end()) {
            return complain(node, fmt::format("cannot be '{}'", value.text), suggestion(value.text, choices));
        }
        setting.options.push_back(std::move(value));
    }

    bool read_table(const Node& node, Value& value) {
        value.type = ValueType::table;
        for (const Member& member : node.members) {
            if (!takes(ValueType::text, member.value.kind)) {
                problems_.add(member.value.place,
                              fmt::format("'{}' in '{}' is {}, not a text", member.key, parameter_.name,
                                          kind_name(member.value)),
                              "put it in quotes");
                return false;
            }
            value.table.emplace(member.key, member.value.text);
        }
        return true;
    }

    void read_range(const Node& node, Setting& setting) {
        const auto dots = node.text.find("..");
        Value low;
        Value high;
        if (!parse(node, std::string_view(node.text).substr(0, dots), low)) return;
        if (!parse(node, std::string_view(node.text).substr(dots + 2), high)) return;
        if (low.number > high.number) {
            return complain(node, fmt::format("is the empty range \"{}\"", node.text),
                            "write the smaller end first");
        }
        setting.range.emplace(std::move(low), std::move(high));
    }

    void read_members(const Node& node, Setting& setting) {
        if (node.is(Node::Kind::text)) {
            const auto known = check_selector(parameter_.type, node.text);
            if (!known) return complain(node, "cannot be that: " + known.error().what, known.error().remedy);
            setting.selector = node.text;
        } else if (node.is(Node::Kind::integer)) {
            read_numbers(node, {node}, setting);
        } else if (!node.is(Node::Kind::list)) {
            complain_of_form(node);
        } else if (!node.items.empty() && node.items.front().is(Node::Kind::list)) {
            for (const Node& item : node.items) read_numbers(item, item.items, setting);
        } else {
            read_numbers(node, node.items, setting);
        }
    }

    void read_numbers(const Node& node, const std::vector<Node>& items, Setting& setting) {
        Value value{.type = parameter_.type};
        for (const Node& item : items) {
            if (!item.is(Node::Kind::integer) || item.integer < 0) {
                return complain(item, "contains something other than a number from 0", form(parameter_.type));
            }
            value.list.push_back(item.integer);
        }
        std::sort(value.list.begin(), value.list.end());
        const auto twice = std::adjacent_find(value.list.begin(), value.list.end());
        if (value.list.empty()) return complain(node, "names nobody", form(parameter_.type));
        if (twice != value.list.end()) {
            return complain(node, fmt::format("names {} twice", *twice), "name each once");
        }
        setting.options.push_back(std::move(value));
    }

    const Parameter& parameter_;
    Problems& problems_;
};

}  // namespace

Setting read_setting(const Node& node, const Parameter& parameter, Problems& problems) {
    return SettingReader(parameter, problems).read(node);
}

std::vector<std::string> setting_words(const Kind& workload) {
    std::vector<std::string> words = {"setting.ranks"};
    for (const Parameter& parameter : workload.parameters) {
        if (parameter.type == ValueType::integer) words.push_back("setting." + parameter.name);
    }
    return words;
}

std::vector<std::string> checked_words(const Kind& workload) {
    std::vector<std::string> words = setting_words(workload);
    words.insert(words.begin(), workload.seams.begin(), workload.seams.end());
    return words;
}

Settings read_settings(Reader& reader, const std::vector<Parameter>& parameters) {
    Settings settings;
    std::map<std::string, Reader> inner;  // one for each table that dotted names go through
    std::map<std::string, const Node*> outer;
    for (const Parameter& parameter : parameters) {
        const auto dot = parameter.name.find('.');
        const Node* node = nullptr;
        if (dot == std::string::npos) {
            node = reader.find(parameter.name);
        } else {
            const std::string group = parameter.name.substr(0, dot);
            if (outer.count(group) == 0) {
                outer[group] = reader.table(group);
                if (outer[group])
                    inner.emplace(group, Reader(*outer[group], "'" + group + "'", reader.problems()));
            }
            const auto found = inner.find(group);
            if (found != inner.end()) node = found->second.find(parameter.name.substr(dot + 1));
        }
        if (node) settings.emplace(parameter.name, read_setting(*node, parameter, reader.problems()));
    }
    for (auto& [group, table] : inner) table.refuse_unknown_keys();
    return settings;
}

}  // namespace deadrank::scenarios
