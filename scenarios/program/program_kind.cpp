// scenarios/program/program_kind.cpp — A setting of `let` has the type of what the file gives it; a list is a
// choice and "3..9" a range, as everywhere in a scenario.
#include "scenarios/program/program_kind.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "scenarios/program/program_words.h"

namespace deadrank::scenarios::program {

namespace {

constexpr Part all_parts[] = {Part::setup, Part::step, Part::finish, Part::earlier};

const Node* text_node(const Node& table, const Node* over, Part part) {
    const std::string key(part_name(part));
    for (const Node* from : {over, &table}) {
        const Member* member = from ? from->find(key) : nullptr;
        if (member && member->value.is(Node::Kind::text)) return &member->value;
    }
    return nullptr;
}

// Lines of a text between ''' are lines of the file. Those of a text that a plan holds in one line are not.
Place place_of(const Node& text, const Spot& spot) {
    const bool first = spot.line == 1;
    if (text.first_letter.line == 0 || (!first && !text.several_lines)) return text.place;
    return {text.place.file, text.first_letter.line + spot.line - 1,
            first ? text.first_letter.column + spot.column - 1 : spot.column};
}

bool is_range(std::string_view text) {
    const auto dots = text.find("..");
    return dots != std::string_view::npos && parse_whole(text.substr(0, dots)) &&
           parse_whole(text.substr(dots + 2));
}

bool is_share(std::string_view text) {
    return text.ends_with('%') && parse_value(ValueType::ratio, text).has_value();
}

ValueType type_of(const Node& node) {
    switch (node.kind) {
        case Node::Kind::integer:
            return ValueType::integer;
        case Node::Kind::boolean:
            return ValueType::boolean;
        case Node::Kind::fraction:
            return ValueType::ratio;
        case Node::Kind::list:
            return node.items.empty() ? ValueType::text : type_of(node.items.front());
        default:
            return is_range(node.text)   ? ValueType::integer
                   : is_share(node.text) ? ValueType::ratio
                                         : ValueType::text;
    }
}

bool is_name(std::string_view text) {
    return !text.empty() && (text[0] < '0' || text[0] > '9') &&
           std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
           });
}

bool is_given(std::string_view name) {
    const auto words = constant_words();
    return std::any_of(words.begin(), words.end(), [&](const auto& word) { return word.name == name; });
}

// The settings of `let`, in the order of the file.
std::vector<std::string> read_lets(const Node& table, Kind& kind, std::vector<Error>& errors) {
    std::vector<std::string> names;
    const Member* let = table.find("let");
    if (!let) return names;
    if (!let->value.is(Node::Kind::table)) {
        errors.push_back({ErrorCode::bad_input, "'let' is not a table", "write [workload.let]", let->place});
        return names;
    }
    for (const Member& member : let->value.members) {
        if (!is_name(member.key) || is_given(member.key)) {
            errors.push_back({ErrorCode::bad_input,
                              fmt::format("'{}' cannot be a setting of let", member.key),
                              is_given(member.key) ? "choose another name: its value is given"
                                                   : "write a name of letters, digits and _",
                              member.place});
            continue;
        }
        const auto differs = [&](const Node& item) { return type_of(item) != type_of(member.value); };
        if (std::any_of(member.value.items.begin(), member.value.items.end(), differs)) {
            errors.push_back({ErrorCode::bad_input,
                              fmt::format("'{}' is a choice of several types", member.key),
                              "write values of one type; a list that is itself a value is a text: \"[1, 2]\"",
                              member.place});
            continue;
        }
        names.push_back(member.key);
        kind.parameters.push_back({.name = let_prefix + member.key,
                                   .type = type_of(member.value),
                                   .what = "a name that the program reads",
                                   .optional = true});
    }
    return names;
}

// What a program that cannot be read seems to publish, by `block("name")` in its texts: a fault that names it
// is then not refused as well.
std::vector<std::string> seeming_names(const Source& source, std::string_view call) {
    std::vector<std::string> names;
    for (const std::string* text : {&source.setup, &source.step, &source.finish, &source.earlier})
        for (std::size_t at = text->find(call); at != std::string::npos; at = text->find(call, at + 1)) {
            const std::size_t from = at + call.size() + 2;
            if (from > text->size() || (*text)[from - 2] != '(') continue;
            const std::size_t end = text->find((*text)[from - 1], from);
            if (end != std::string::npos) names.push_back(text->substr(from, end - from));
        }
    return names;
}

std::vector<std::string> names_of(const std::vector<Published>& published) {
    std::vector<std::string> names;
    for (const Published& one : published) names.push_back(one.name);
    return names;
}

}  // namespace

std::string_view part_name(Part part) {
    return part == Part::setup    ? "setup"
           : part == Part::step   ? "step"
           : part == Part::finish ? "finish"
                                  : "earlier";
}

std::string place_text(const Spot& spot) {
    return fmt::format("line {} of {}", spot.line, part_name(spot.part));
}

std::vector<Error> complete(const Node& table, const Node* over, Kind& kind) {
    std::vector<Error> errors;
    const auto brings = [&](Part part) { return over && over->find(part_name(part)); };
    if (over && std::none_of(std::begin(all_parts), std::end(all_parts), brings)) return errors;
    Source source;
    source.lets = read_lets(table, kind, errors);
    bool any = false;
    for (const Part part : all_parts) {
        const Node* text = text_node(table, over, part);
        any |= text != nullptr;
        std::string& into = part == Part::setup    ? source.setup
                            : part == Part::step   ? source.step
                            : part == Part::finish ? source.finish
                                                   : source.earlier;
        if (text) into = text->text;
    }
    if (!any) {
        errors.push_back(
            {ErrorCode::bad_input, "the program has no text",
             "add step = '''…''' with what each rank does in a step; `deadrank explain program` has "
             "examples",
             table.place});
        return errors;
    }
    std::vector<Mistake> mistakes;
    const Program program = read_program(source, mistakes);
    const auto refuse_at = [&](const Spot& spot, std::string what, std::string remedy) {
        const Node* text = text_node(table, over, spot.part);
        const Place place = text ? place_of(*text, spot) : table.place;
        errors.push_back({ErrorCode::bad_input, fmt::format("{}: {}", part_name(spot.part), what),
                          std::move(remedy), place});
    };
    for (Mistake& mistake : mistakes) refuse_at(mistake.spot, mistake.what, mistake.remedy);
    if (!mistakes.empty()) {
        for (const std::string& name : seeming_names(source, "seam")) kind.seams.push_back(name);
        for (const std::string& name : seeming_names(source, "block")) kind.blocks.push_back(name);
        for (const std::string& name : seeming_names(source, "phase")) kind.phases.push_back({name});
        return errors;
    }
    if (!over) {
        for (const std::string& name : unread_lets(program, source)) {
            errors.push_back({ErrorCode::bad_input, fmt::format("the program never reads '{}'", name),
                              "use it, or leave it out", table.find("let")->value.find(name)->place});
        }
    }
    for (const auto* published : {&program.seams, &program.blocks}) {
        auto& words = published == &program.seams ? kind.seams : kind.blocks;
        for (const Published& one : *published) {
            if (std::find(words.begin(), words.end(), one.name) != words.end())
                refuse_at(one.spot, fmt::format("start-up has a '{}' of its own", one.name),
                          "choose another name");
            else
                words.push_back(one.name);
        }
    }
    for (const std::string& name : names_of(program.phases)) kind.phases.push_back({name});
    return errors;
}

Source source_of(const Values& workload) {
    Source source;
    const auto text = [&](const char* name) {
        const auto found = workload.find(name);
        return found == workload.end() ? std::string() : found->second.text;
    };
    source.setup = text("setup");
    source.step = text("step");
    source.finish = text("finish");
    source.earlier = text("earlier");
    const std::string prefix = let_prefix;
    for (const auto& [name, value] : workload) {
        if (name.starts_with(prefix)) source.lets.push_back(name.substr(prefix.size()));
    }
    return source;
}

}  // namespace deadrank::scenarios::program
