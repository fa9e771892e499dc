// sim/program/operators.cpp — What operators do with values of any type, and which they refuse; methods by
// which a class of the program says what they do with it; and what is left to check of a method's call when
// its object is known.
#include <algorithm>
#include <fmt/format.h>

#include "scenarios/program/program_words.h"
#include "sim/program/builtins.h"
#include "sim/program/interpreter.h"
#include "sim/program/program_number.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

using namespace scenarios::program;

std::string_view sign_of(Operator op) {
    static constexpr std::string_view signs[] = {"+", "-",  "*",  "/", "//", "%", "**",
                                                 "@", "<<", ">>", "&", "|",  "^"};
    const auto place = static_cast<std::size_t>(op);
    return place < std::size(signs) ? signs[place] : "comparison";
}

namespace {

[[noreturn]] void refuse_types(Operator op, const Value& a, const Value& b) {
    raise("TypeError", fmt::format("unsupported operand type(s) for {}: {} and {}", sign_of(op), type_word(a),
                                   type_word(b)));
}

Value repeated(const Value& what, std::int64_t times) {
    const std::size_t each = what.is(Type::list) ? what.list().items.size() : what.text().size();
    times = std::max<std::int64_t>(times, 0);
    if (times > 0 && each > most_values / static_cast<std::size_t>(times))
        raise("MemoryError", "more than a million values");
    std::vector<Value> items;
    std::string text;
    for (; times > 0; --times) {
        if (what.is(Type::list))
            items.insert(items.end(), what.list().items.begin(), what.list().items.end());
        else
            text += what.text();
    }
    if (what.is(Type::list) && what.list().fixed) return Value::new_tuple(std::move(items));
    return what.is(Type::list) ? Value::new_list(std::move(items)) : Value::new_text(std::move(text));
}

// __add__ of the one, or __radd__ of the other.
std::optional<Value> operated_by_class(Operator op, const Value& a, const Value& b) {
    static constexpr const char* own[] = {"__add__",      "__sub__", "__mul__", "__truediv__",
                                          "__floordiv__", "__mod__", "__pow__", "__matmul__"};
    static constexpr const char* turned[] = {"__radd__", "__rsub__", "__rmul__", "__rtruediv__"};
    const auto place = static_cast<std::size_t>(op);
    if (a.is(Type::object) && place < std::size(own))
        if (auto made = own_answer(a, own[place], {b})) return made;
    if (b.is(Type::object) && place < std::size(turned)) return own_answer(b, turned[place], {a});
    return std::nullopt;
}

std::optional<Value> related_by_class(Operator op, const Value& a, const Value& b) {
    static constexpr const char* names[] = {"__lt__", "__le__", "__gt__", "__ge__"};
    static constexpr const char* turned[] = {"__gt__", "__ge__", "__lt__", "__le__"};
    const auto place = static_cast<std::size_t>(op) - static_cast<std::size_t>(Operator::less);
    if (auto found = own_answer(a, names[place], {b})) return found;
    return own_answer(b, turned[place], {a});
}

bool is_sequence(const Value& value) { return value.is(Type::list) || value.is(Type::text); }

}  // namespace

Value operate(Operator op, const Value& a, const Value& b) {
    if (a.is_number() && b.is_number()) return arithmetic(op, a, b);
    if (op == Operator::matrix && a.is(Type::tensor) && b.is(Type::tensor))
        return multiplied(a.tensor(), b.tensor());
    if (a.is(Type::object) || b.is(Type::object))
        if (auto made = operated_by_class(op, a, b)) return std::move(*made);
    if (a.is(Type::tensor) || b.is(Type::tensor)) return calculated(op, a, b);
    if (op == Operator::add && a.is(Type::text) && b.is(Type::text)) {
        if (a.text().size() + b.text().size() > most_values)
            raise("MemoryError", "a text of more than a million letters");
        return Value::new_text(a.text() + b.text());
    }
    if (op == Operator::add && a.is(Type::text))
        raise("TypeError", fmt::format("can only concatenate str (not \"{}\") to str", type_name(b)));
    if (op == Operator::add && a.is(Type::list) && b.is(Type::list)) {
        std::vector<Value> items = a.list().items;
        items.insert(items.end(), b.list().items.begin(), b.list().items.end());
        if (items.size() > most_values) raise("MemoryError", "a list of more than a million values");
        return a.list().fixed ? Value::new_tuple(std::move(items)) : Value::new_list(std::move(items));
    }
    if (op == Operator::bit_or && a.is(Type::dict) && b.is(Type::dict)) {
        Value both = Value::new_dict();
        both.dict().items = a.dict().items;
        for (const auto& [key, value] : b.dict().items) both.dict().set(key, value);
        return both;
    }
    if (op == Operator::modulo && a.is(Type::text))
        raise("TypeError", "a text with % is not known here: write f\"{value}\"");
    if (op == Operator::multiply && is_sequence(a) && b.is(Type::whole)) return repeated(a, b.number());
    if (op == Operator::multiply && a.is(Type::whole) && is_sequence(b)) return repeated(b, a.number());
    refuse_types(op, a, b);
}

bool relate(Operator op, const Value& a, const Value& b) {
    if (is_environment(b) && (op == Operator::in || op == Operator::not_in))
        return variable_in(b, a).has_value() == (op == Operator::in);
    switch (op) {
        case Operator::is:
        case Operator::is_not: {
            const bool same = a.is(Type::none) || b.is(Type::none) ? a.type() == b.type()
                              : a.is_number()                      ? a.type() == b.type() && equal(a, b)
                                                                   : a.same_object(b);
            return same == (op == Operator::is);
        }
        case Operator::in:
        case Operator::not_in: {
            bool found = false;
            if (const auto says = own_answer(b, "__contains__", {a}))
                found = truth(*says);
            else if (b.is(Type::dict))
                found = b.dict().find(a) != nullptr;
            else if (b.is(Type::text) && a.is(Type::text))
                found = b.text().find(a.text()) != std::string::npos;
            else
                for (const Value& item : items_of(b)) found = found || equal(item, a);
            return found == (op == Operator::in);
        }
        case Operator::equal:
            return equal(a, b);
        case Operator::unequal:
            return !equal(a, b);
        default:
            break;
    }
    if (a.is_number() && b.is_number()) return truth(arithmetic(op, a, b));
    if (a.is(Type::text) && b.is(Type::text)) {
        const int order = a.text().compare(b.text());
        return truth(arithmetic(op, Value::whole(order), Value::whole(0)));
    }
    if (a.is(Type::object) || b.is(Type::object))
        if (const auto says = related_by_class(op, a, b)) return truth(*says);
    if (a.is(Type::list) && b.is(Type::list)) {  // by the first place where they differ
        const auto &x = a.list().items, &y = b.list().items;
        for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i)
            if (!equal(x[i], y[i])) return relate(op, x[i], y[i]);
        return truth(arithmetic(op, Value::whole(std::ssize(x)), Value::whole(std::ssize(y))));
    }
    refuse_order(op, a, b);
}

void refuse_order(Operator op, const Value& a, const Value& b) {
    static constexpr std::string_view signs[] = {"<", "<=", ">", ">="};
    raise("TypeError",
          fmt::format("'{}' not supported between instances of {} and {}",
                      signs[static_cast<std::size_t>(op) - static_cast<std::size_t>(Operator::less)],
                      type_word(a), type_word(b)));
}

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
