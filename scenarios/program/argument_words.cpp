// scenarios/program/argument_words.cpp — Which words each of these parameters knows.
#include "scenarios/program/argument_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "scenarios/model/value.h"
#include "scenarios/model/vocabulary.h"
#include "scenarios/program/program_resolver.h"

namespace deadrank::scenarios::program {

namespace {

struct ClosedWords {
    std::string noun;
    std::vector<std::string> words;  // those to name
    std::vector<std::string> also;   // other names of them
};

const ClosedWords* closed_words(const std::string& function, const std::string& parameter) {
    static const ClosedWords levels{"level", level_names(), {}};
    static const ClosedWords reductions{
        "reduction", {"sum", "avg", "max", "min", "prod"}, {"mean", "product"}};
    static const ClosedWords types{
        "element type", type_names(), {"float", "double", "half", "long", "int", "bool"}};
    static const ClosedWords modes{"mode", {"w", "a", "x"}, {}};
    static const ClosedWords backends{"backend", {"nccl", "gloo"}, {}};
    if (function == "log" && parameter == "level") return &levels;
    if (parameter == "backend") return &backends;
    if (parameter == "op" && function != "P2POp") return &reductions;
    if (parameter == "dtype") return &types;
    if (parameter == "mode") return &modes;
    return nullptr;
}

// What takes a device for a tensor; allocate and set_device find out when they are called.
bool takes_device(const std::string& function, const std::string& parameter) {
    return (parameter == "device" && function != "allocate" && function != "set_device") ||
           parameter == "map_location" || (function == "device" && parameter == "type");
}

void check_device(const Expr& value, std::vector<Mistake>& mistakes) {
    if (is_device_word(value.text)) return;
    mistakes.push_back({value.spot, fmt::format("there is no device '{}'", value.text),
                        "write \"cpu\", \"cuda\" or \"cuda:1\""});
}

void check_quantity(ValueType type, const Expr& value, const char* noun, const char* remedy,
                    std::vector<Mistake>& mistakes) {
    if (parse_value(type, value.text)) return;
    mistakes.push_back({value.spot, fmt::format("'{}' is not a {}", value.text, noun), remedy});
}

}  // namespace

bool is_device_word(std::string_view text) {
    if (text == "cpu" || text == "cuda") return true;
    if (!text.starts_with("cuda:") || text.size() == 5) return false;
    return text.find_first_not_of("0123456789", 5) == std::string_view::npos;
}

void check_closed_word(const std::string& function, const std::string& parameter, const Expr& value,
                       std::vector<Mistake>& mistakes) {
    if (value.kind == ExprKind::choice) {
        check_closed_word(function, parameter, value.parts[0], mistakes);
        return check_closed_word(function, parameter, value.parts[2], mistakes);
    }
    if (value.kind != ExprKind::text) return;
    if (parameter == "time" || parameter == "timeout")
        return check_quantity(ValueType::duration, value, "time", "write \"10ms\", or seconds as a number",
                              mistakes);
    if (function == "allocate" && parameter == "size")
        return check_quantity(ValueType::bytes, value, "size", "write \"1GiB\", or bytes as a number",
                              mistakes);
    if (takes_device(function, parameter)) return check_device(value, mistakes);
    const ClosedWords* closed = closed_words(function, parameter);
    if (!closed) return;
    std::string word = value.text;
    if (parameter == "dtype" && word.starts_with("torch.")) word = word.substr(6);
    if (place_in(closed->words, word) >= 0 || place_in(closed->also, word) >= 0) return;
    const std::string near = nearest(word, closed->words);
    mistakes.push_back({value.spot, fmt::format("there is no {} '{}'", closed->noun, word),
                        fmt::format("{}known are {}{}", near.empty() ? "" : "did you mean '" + near + "'? ",
                                    fmt::join(closed->words, ", "),
                                    function == "to" ? "; and the devices cpu, cuda and cuda:1" : "")});
}

}  // namespace deadrank::scenarios::program
