// sim/program/method_arguments.cpp — What is left to check of a method's call when its object is known, and
// methods by which a class of the program says what Python's own operators do with it.
#include <algorithm>
#include <fmt/format.h>

#include "scenarios/program/program_words.h"
#include "sim/program/interpreter.h"

namespace deadrank::sim::program {

using scenarios::program::MethodWord;

namespace {

// As the table of words names it.
std::string_view type_in_table(const Value& object) {
    switch (object.type()) {
        case Type::tensor:
            return "tensor";
        case Type::list:
            return "list";
        case Type::dict:
            return "dict";
        case Type::text:
            return "text";
        case Type::handle:
            return "handle";
        case Type::group:
            return "group";
        case Type::object:
            return object.instance().kind == mesh_kind      ? "mesh"
                   : object.instance().kind == stream_kind  ? "stream"
                   : object.instance().kind == event_kind   ? "event"
                   : object.instance().kind == process_kind ? "process"
                                                            : "generator";
        default:
            return {};
    }
}

const MethodWord* word_of(const Value& object, std::string_view name) {
    const std::string_view type = type_in_table(object);
    for (const MethodWord& word : scenarios::program::method_words())
        if (word.of == type && word.called() && word.name() == name) return &word;
    return nullptr;
}

}  // namespace

bool has_method(const Value& object, std::string_view name) { return word_of(object, name) != nullptr; }

void check_given(const Expr& call, const Value& object, std::size_t given) {
    const MethodWord* const word = word_of(object, call.text);
    if (!word) return;  // the method is refused itself
    if (call.slot >= 0) {
        const MethodWord& ordered = scenarios::program::method_words()[static_cast<std::size_t>(call.slot)];
        if (ordered.signature != word->signature)
            raise("TypeError", fmt::format("{}() of {} has no such named argument: it is {}", call.text,
                                           type_word(object), word->signature));
        return;
    }
    if (word->variadic()) return;
    const auto parameters = word->parameters();
    const auto most = std::count_if(parameters.begin(), parameters.end(),
                                    [](const auto& parameter) { return !parameter.named; });
    if (std::cmp_less_equal(given, most)) return;
    if (most == 0 && !parameters.empty())
        raise("TypeError", fmt::format("{}() takes no positional arguments", call.text));
    raise("TypeError",
          fmt::format("{}() takes {} positional arguments but {} were given", call.text, most, given));
}

std::vector<Value> arranged(const Expr& call, const Value& object, std::vector<Value> given) {
    const MethodWord* const word = word_of(object, call.text);
    if (!word) return given;  // the method is refused itself
    const std::size_t plain = given.size() - call.keywords.size();
    if (word->variadic())
        raise("TypeError",
              fmt::format("{}() got an unexpected keyword argument '{}'", call.text, call.keywords.front()));
    check_given(call, object, plain);
    const auto parameters = word->parameters();
    std::vector<Value> ordered(parameters.size());
    std::move(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(plain), ordered.begin());
    for (std::size_t i = 0; i < call.keywords.size(); ++i) {
        const auto found = std::find_if(parameters.begin(), parameters.end(),
                                        [&](const auto& one) { return one.name == call.keywords[i]; });
        if (found == parameters.end())
            raise("TypeError",
                  fmt::format("{}() got an unexpected keyword argument '{}'", call.text, call.keywords[i]));
        Value& taken = ordered[static_cast<std::size_t>(found - parameters.begin())];
        if (!taken.is(Type::unset))
            raise("TypeError",
                  fmt::format("{}() got multiple values for argument '{}'", call.text, call.keywords[i]));
        taken = std::move(given[plain + i]);
    }
    return ordered;
}

std::optional<Value> own_answer(const Value& object, const char* method, std::vector<Value> given) {
    if (!object.is(Type::object) || !object.instance().rank || object.instance().kind < 0)
        return std::nullopt;
    Interpreter& rank = *object.instance().rank;
    const auto does = rank.attribute(object, method);
    if (!does) return std::nullopt;
    return rank.call(*does, std::move(given));
}

}  // namespace deadrank::sim::program
