// sim/program/builtins_python.cpp — Python's own functions of numbers, lists and texts.
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <utility>

#include "scenarios/program/program_parser.h"
#include "sim/program/builtins.h"
#include "sim/program/program_number.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

using scenarios::program::Operator;

namespace {

Value absolute_of(Interpreter&, Arguments& given) {
    const Value& x = given[0];
    if (x.is(Type::tensor)) return method(x, "abs", {});
    if (!x.is_number()) raise("TypeError", fmt::format("bad operand type for abs(): {}", type_word(x)));
    if (x.number() >= 0 || is_nan(x)) return x.is(Type::boolean) ? Value::whole(x.number()) : x;
    return operate(Operator::multiply, x, Value::whole(-1));
}

Value all_true(Interpreter&, Arguments& given) {
    const auto items = items_of(given[0]);
    return Value::boolean(std::all_of(items.begin(), items.end(), truth));
}

Value any_true(Interpreter&, Arguments& given) {
    const auto items = items_of(given[0]);
    return Value::boolean(std::any_of(items.begin(), items.end(), truth));
}

Value to_bool(Interpreter&, Arguments& given) { return Value::boolean(truth(given[0])); }

Value enumerated(Interpreter&, Arguments& given) {
    std::vector<Value> pairs;
    const std::int64_t first = given[1].is(Type::unset) ? 0 : as_whole(given[1], "start");
    for (const Value& item : items_of(given[0]))
        pairs.push_back(Value::new_tuple({Value::whole(first + std::ssize(pairs)), item}));
    return Value::new_list(std::move(pairs));
}

Value scalar(const Value& value) { return value.is(Type::tensor) ? method(value, "item", {}) : value; }

Value to_float(Interpreter&, Arguments& given) {
    const Value x = scalar(given[0]);
    if (x.is_number()) return Value::decimal(as_decimal(x));
    const std::string& text = text_in(x, "float() argument");
    if (text == "inf" || text == "+inf") return Value::decimal(infinite);
    if (text == "-inf") return Value::decimal(-infinite);
    if (text == "nan") return Value::decimal(not_a_number);
    const auto parsed = scenarios::program::parse_literal(text);
    const Value number = parsed ? literal(*parsed) : Value();
    if (!number.is(Type::whole) && !number.is(Type::decimal))
        raise("ValueError", fmt::format("could not convert string to float: {}", repr(x)));
    return Value::decimal(as_decimal(number));
}

Value to_int(Interpreter&, Arguments& given) {
    const Value x = scalar(given[0]);
    if (x.is(Type::decimal)) {
        if (is_nan(x)) raise("ValueError", "cannot convert float NaN to integer");
        if (is_special(x.number())) raise("OverflowError", "cannot convert float infinity to integer");
        return Value::whole(x.number() / one);
    }
    if (x.is_number()) return Value::whole(x.number());
    std::string_view text = text_in(x, "int() argument");
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size())
        raise("ValueError", fmt::format("invalid literal for int() with base 10: {}", repr(x)));
    return Value::whole(number);
}

// A type is a word, a function of that name, a class, or a list of those.
bool is_of(Interpreter& rank, const Value& value, const Value& type) {
    if (type.is(Type::list))
        return std::any_of(type.list().items.begin(), type.list().items.end(),
                           [&](const Value& one_of) { return is_of(rank, value, one_of); });
    if (type.is(Type::kind)) {
        int kind = value.is(Type::object) ? value.instance().kind : namespace_kind;
        const auto& classes = rank.program().classes;
        while (kind >= 0 && kind < std::ssize(classes) && kind != type.number())
            kind = classes[static_cast<std::size_t>(kind)].parent;
        return kind == type.number();
    }
    const std::string name =
        type.is(Type::function) ? type.callable().name : text_in(type, "isinstance() arg 2");
    std::string word = type_word(value);
    word = word.substr(1, word.size() - 2);
    return word == name || (word == "Tensor" && name == "tensor") || (word == "list" && name == "tuple") ||
           (word == "bool" && name == "int");
}

Value is_instance(Interpreter& rank, Arguments& given) {
    return Value::boolean(is_of(rank, given[0], given[1]));
}

Value length(Interpreter& rank, Arguments& given) {
    const Value& x = given[0];
    if (x.is(Type::object))
        if (const auto counts = rank.attribute(x, "__len__")) return rank.call(*counts, {});
    if (x.is(Type::text)) return Value::whole(std::ssize(x.text()));
    if (x.is(Type::list)) return Value::whole(std::ssize(x.list().items));
    if (x.is(Type::dict)) return Value::whole(std::ssize(x.dict().items));
    if (x.is(Type::tensor) && x.tensor().shape.empty()) raise("TypeError", "len() of a 0-d tensor");
    if (x.is(Type::tensor)) return Value::whole(x.tensor().shape.front());
    raise("TypeError", fmt::format("object of type {} has no len()", type_word(x)));
}

std::vector<Value> items_or_none(const Value& values) {
    return values.is(Type::unset) ? std::vector<Value>() : items_of(values);
}
Value to_list(Interpreter&, Arguments& given) { return Value::new_list(items_or_none(given[0])); }
Value to_tuple(Interpreter&, Arguments& given) { return Value::new_tuple(items_or_none(given[0])); }

Value to_set(Interpreter&, Arguments& given) {
    std::vector<Value> items = items_or_none(given[0]);
    std::stable_sort(items.begin(), items.end(),
                     [](const Value& a, const Value& b) { return relate(Operator::less, a, b); });
    items.erase(std::unique(items.begin(), items.end(), equal), items.end());
    return Value::new_list(std::move(items));
}

Value quotient_and_rest(Interpreter&, Arguments& given) {
    return Value::new_tuple(
        {operate(Operator::floor_divide, given[0], given[1]), operate(Operator::modulo, given[0], given[1])});
}
Value to_power(Interpreter&, Arguments& given) { return operate(Operator::power, given[0], given[1]); }

Value path_join(Interpreter&, Arguments& given) {
    std::string path;
    for (const Value& part : given[0].list().items) {
        const std::string& text = text_in(part, "join() argument");
        if (text.starts_with('/')) path.clear();
        if (!path.empty() && !path.ends_with('/')) path += '/';
        path += text;
    }
    return Value::new_text(std::move(path));
}

Value farthest(Interpreter& rank, Arguments& given, bool largest) {
    const auto& stated_ones = given[0].list().items;
    if (stated_ones.size() == 1 && stated_ones.front().is(Type::tensor) && !stated(given[1]))
        return method(stated_ones.front(), largest ? "max" : "min", {});
    const std::vector<Value> items = stated_ones.size() == 1 ? items_of(stated_ones.front()) : stated_ones;
    if (items.empty() && !given[2].is(Type::unset)) return given[2];
    if (items.empty())
        raise("ValueError", fmt::format("{}() arg is an empty sequence", largest ? "max" : "min"));
    const auto key = [&](const Value& item) { return stated(given[1]) ? rank.call(given[1], {item}) : item; };
    Value best = items.front(), best_key = key(best);
    for (std::size_t i = 1; i < items.size(); ++i) {
        Value found = key(items[i]);
        if (!relate(largest ? Operator::greater : Operator::less, found, best_key)) continue;
        best = items[i];
        best_key = std::move(found);
    }
    return best;
}

Value largest(Interpreter& rank, Arguments& given) { return farthest(rank, given, true); }
Value smallest(Interpreter& rank, Arguments& given) { return farthest(rank, given, false); }

Value print(Interpreter& rank, Arguments& given) {
    const std::string between = stated(given[1]) ? text_in(given[1], "sep") : " ";
    const std::string end = stated(given[2]) ? text_in(given[2], "end") : "\n";
    std::string line = rank.printed();
    bool begun = false;
    for (const Value& item : given[0].list().items) {
        line += (begun ? between : "") + shown_text(item);
        begun = true;
    }
    line += end;
    if (line.ends_with('\n')) {
        line.pop_back();
        rank.world().log(line);
    } else {
        if (line.size() > most_values) raise("MemoryError", "a line of more than a million letters");
        rank.seldom().printed = std::move(line);
    }
    return Value::none();
}

Value range(Interpreter& rank, Arguments& given) {
    const auto& ends = given[0].list().items;
    if (ends.empty() || ends.size() > 3)
        raise("TypeError", fmt::format("range expected 1 to 3 arguments, got {}", ends.size()));
    const auto end = [&](std::size_t i) { return as_whole(ends[i], "a range argument"); };
    const std::int64_t first = ends.size() > 1 ? end(0) : 0, last = end(ends.size() > 1 ? 1 : 0);
    const std::int64_t by = ends.size() > 2 ? end(2) : 1;
    if (by == 0) raise("ValueError", "range() arg 3 must not be zero");
    std::vector<Value> items;
    for (Wide at = first; by > 0 ? at < last : at > last; at += by) {
        items.push_back(Value::whole(static_cast<std::int64_t>(at)));
        if (items.size() > (1U << 20)) raise("MemoryError", "a range of more than a million numbers");
    }
    rank.spend(std::ssize(items));
    return Value::new_list(std::move(items));
}

Value sorted(Interpreter& rank, Arguments& given) {
    std::vector<std::pair<Value, Value>> items;  // key, value
    for (const Value& item : items_of(given[0]))
        items.emplace_back(stated(given[1]) ? rank.call(given[1], {item}) : item, item);
    const bool reverse = !given[2].is(Type::unset) && truth(given[2]);
    std::stable_sort(items.begin(), items.end(), [reverse](const auto& a, const auto& b) {
        return reverse ? relate(Operator::less, b.first, a.first) : relate(Operator::less, a.first, b.first);
    });
    std::vector<Value> values;
    for (auto& [key, value] : items) values.push_back(std::move(value));
    return Value::new_list(std::move(values));
}

Value functools_reduce(Interpreter& rank, Arguments& given) {
    const std::vector<Value> items = items_of(given[1]);
    std::size_t first = 0;
    Value all = given[2];
    if (all.is(Type::unset)) {
        if (items.empty()) raise("TypeError", "reduce() of empty iterable with no initial value");
        all = items[first++];
    }
    for (; first < items.size(); ++first) all = rank.call(given[0], {all, items[first]});
    return all;
}

Value iterator(Interpreter& rank, Arguments& given) { return rank.iterator_of(given[0]); }

Value next(Interpreter& rank, Arguments& given) {
    if (auto found = rank.next_of(given[0])) return std::move(*found);
    if (given[1].is(Type::unset)) raise("StopIteration", "");
    return given[1];
}

Value to_str(Interpreter&, Arguments& given) { return Value::new_text(shown_text(given[0])); }

Value sum(Interpreter&, Arguments& given) {
    const bool vector = given[0].is(Type::tensor) && given[0].tensor().shape.size() < 2;
    if (vector) {
        const Value all = method(given[0], "sum", {});
        return stated(given[1]) ? operate(Operator::add, given[1], all) : all;
    }
    Value all = given[1].is(Type::unset) ? Value::whole(0) : given[1];
    for (const Value& item : items_of(given[0])) all = operate(Operator::add, all, item);
    return all;
}

Value zipped(Interpreter&, Arguments& given) {
    std::vector<std::vector<Value>> lists;
    std::size_t shortest = most_values;
    for (const Value& list : given[0].list().items) {
        lists.push_back(items_of(list));
        shortest = std::min(shortest, lists.back().size());
    }
    std::vector<Value> rows;
    for (std::size_t i = 0; !lists.empty() && i < shortest; ++i) {
        std::vector<Value> row;
        for (const auto& list : lists) row.push_back(list[i]);
        rows.push_back(Value::new_tuple(std::move(row)));
    }
    return Value::new_list(std::move(rows));
}

}  // namespace

std::vector<BuiltinRow> python_builtins() {
    return {{"abs", absolute_of},
            {"all", all_true},
            {"any", any_true},
            {"bool", to_bool},
            {"enumerate", enumerated},
            {"float", to_float},
            {"int", to_int},
            {"functools_reduce", functools_reduce},
            {"iter", iterator},
            {"next", next},
            {"isinstance", is_instance},
            {"len", length},
            {"list", to_list},
            {"tuple", to_tuple},
            {"set", to_set},
            {"divmod", quotient_and_rest},
            {"pow", to_power},
            {"path_join", path_join},
            {"max", largest},
            {"min", smallest},
            {"print", print},
            {"range", range},
            {"sorted", sorted},
            {"str", to_str},
            {"sum", sum},
            {"zip", zipped}};
}

}  // namespace deadrank::sim::program
