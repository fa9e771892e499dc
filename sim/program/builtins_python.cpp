// sim/program/builtins_python.cpp — Python's own functions, and those that make tensors.
#include <algorithm>
#include <charconv>
#include <fmt/format.h>

#include "scenarios/program/program_parser.h"
#include "sim/program/builtins.h"
#include "sim/program/program_number.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

using scenarios::program::Operator;

namespace {

Value absolute(Interpreter&, Arguments& given) {
    if (!given[0].is_number())
        raise("TypeError", fmt::format("bad operand type for abs(): {}", type_word(given[0])));
    const Value& x = given[0];
    if (x.number() >= 0) return x.is(Type::boolean) ? Value::whole(x.number()) : x;
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
    for (const Value& item : items_of(given[0]))
        pairs.push_back(Value::new_list({Value::whole(std::ssize(pairs)), item}));
    return Value::new_list(std::move(pairs));
}

Value scalar(const Value& value) { return value.is(Type::tensor) ? method(value, "item", {}) : value; }

Value to_float(Interpreter&, Arguments& given) {
    const Value x = scalar(given[0]);
    if (x.is_number()) return Value::decimal(as_decimal(x));
    const auto literal = scenarios::program::parse_literal(text_in(x, "float() argument"));
    const bool negative = literal && literal->kind == scenarios::program::ExprKind::negate;
    const auto* number = negative ? &literal->parts[0] : literal ? &*literal : nullptr;
    const bool whole = number && number->kind == scenarios::program::ExprKind::whole;
    if (!whole && !(number && number->kind == scenarios::program::ExprKind::decimal))
        raise("ValueError", fmt::format("could not convert string to float: {}", repr(x)));
    const Number found = whole ? as_decimal(Value::whole(number->number)) : number->number;
    return Value::decimal(negative ? -found : found);
}

Value to_int(Interpreter&, Arguments& given) {
    const Value x = scalar(given[0]);
    if (x.is(Type::decimal)) {
        if (x.number() >= infinite || x.number() <= -infinite)
            raise("OverflowError", "cannot convert float infinity to integer");
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

Value is_instance(Interpreter&, Arguments& given) {
    const std::string& type = text_in(given[1], "isinstance() arg 2");
    std::string_view word = type_word(given[0]);
    word = word.substr(1, word.size() - 2);
    return Value::boolean(word == type || (word == "Tensor" && type == "tensor"));
}

Value length(Interpreter&, Arguments& given) {
    const Value& x = given[0];
    if (x.is(Type::text)) return Value::whole(std::ssize(x.text()));
    if (x.is(Type::list)) return Value::whole(std::ssize(x.list().items));
    if (x.is(Type::dict)) return Value::whole(std::ssize(x.dict().items));
    if (x.is(Type::tensor) && x.tensor().shape.empty()) raise("TypeError", "len() of a 0-d tensor");
    if (x.is(Type::tensor)) return Value::whole(x.tensor().shape.front());
    raise("TypeError", fmt::format("object of type {} has no len()", type_word(x)));
}

Value to_list(Interpreter&, Arguments& given) { return Value::new_list(items_of(given[0])); }

Value farthest(Arguments& given, bool largest) {
    const auto& stated = given[0].list().items;
    const std::vector<Value> items = stated.size() == 1 ? items_of(stated.front()) : stated;
    if (items.empty())
        raise("ValueError", fmt::format("{}() arg is an empty sequence", largest ? "max" : "min"));
    Value best = items.front();
    for (const Value& item : items)
        if (relate(largest ? Operator::greater : Operator::less, item, best)) best = item;
    return best;
}

Value largest(Interpreter&, Arguments& given) { return farthest(given, true); }
Value smallest(Interpreter&, Arguments& given) { return farthest(given, false); }

Value print(Interpreter& rank, Arguments& given) {
    std::string line;
    for (const Value& item : given[0].list().items) line += (line.empty() ? "" : " ") + shown_text(item);
    rank.world().log(line);
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

Value sorted(Interpreter&, Arguments& given) {
    std::vector<Value> items = items_of(given[0]);
    std::stable_sort(items.begin(), items.end(),
                     [](const Value& a, const Value& b) { return relate(Operator::less, a, b); });
    if (truth(given[1])) std::reverse(items.begin(), items.end());
    return Value::new_list(std::move(items));
}

Value to_str(Interpreter&, Arguments& given) { return Value::new_text(shown_text(given[0])); }

Value sum(Interpreter&, Arguments& given) {
    if (given[0].is(Type::tensor)) return method(given[0], "sum", {});
    Value all = Value::whole(0);
    for (const Value& item : items_of(given[0])) all = operate(Operator::add, all, item);
    return all;
}

Value zipped(Interpreter&, Arguments& given) {
    const auto a = items_of(given[0]), b = items_of(given[1]);
    std::vector<Value> pairs;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
        pairs.push_back(Value::new_list({a[i], b[i]}));
    return Value::new_list(std::move(pairs));
}

// Tensors.

Dtype stated_dtype(const Value& word, Dtype otherwise) {
    return word.is(Type::unset) || word.is(Type::none) ? otherwise : dtype_of(word);
}

Value filled(Interpreter& rank, std::shared_ptr<Tensor> made, const Value& value) {
    rank.spend(made->count());
    if (!value.is(Type::unset)) assign(*made, value);
    return Value::of(std::move(made));
}

// What lay in memory: small numbers that no other rank has.
Value unwritten(Interpreter& rank, std::shared_ptr<Tensor> made) {
    constexpr std::uint64_t spread = 1 << 12;
    for (Number& element : made->data()) {
        const auto drawn = rank.world().chance("program.empty", rank.garbage_drawn++, spread);
        element =
            converted(static_cast<Number>(drawn) - static_cast<Number>(spread / 2), Dtype::i64, made->dtype);
    }
    return filled(rank, std::move(made), {});
}

Value new_from(Interpreter& rank, Arguments& given) {
    return filled(rank, tensor_from(given[0], stated_dtype(given[1], Dtype::none)), {});
}
Value zeros(Interpreter& rank, Arguments& given) {
    return filled(rank, new_tensor(stated_dtype(given[1], Dtype::f32), shape_from(given[0])), {});
}
Value ones(Interpreter& rank, Arguments& given) {
    return filled(rank, new_tensor(stated_dtype(given[1], Dtype::f32), shape_from(given[0])),
                  Value::whole(1));
}
Value empty(Interpreter& rank, Arguments& given) {
    return unwritten(rank, new_tensor(stated_dtype(given[1], Dtype::f32), shape_from(given[0])));
}
Value full(Interpreter& rank, Arguments& given) {
    const Value size = given[0].is(Type::list) ? given[0] : Value::new_list({given[0]});
    const Dtype usual = given[1].is(Type::decimal) ? Dtype::f32 : Dtype::i64;
    return filled(rank, new_tensor(stated_dtype(given[2], usual), shape_from(size)), given[1]);
}
Value arange(Interpreter& rank, Arguments& given) {
    auto made = new_tensor(Dtype::i64, {as_whole(given[0], "end")});
    std::int64_t next = 0;
    for (Number& element : made->data()) element = next++;
    return filled(rank, std::move(made), {});
}
Value zeros_like(Interpreter& rank, Arguments& given) {
    const auto like = tensor_in(given[0], "zeros_like", "tensor");
    return filled(rank, new_tensor(like->dtype, like->shape), {});
}
Value empty_like(Interpreter& rank, Arguments& given) {
    const auto like = tensor_in(given[0], "empty_like", "tensor");
    return unwritten(rank, new_tensor(like->dtype, like->shape));
}
Value cat(Interpreter& rank, Arguments& given) {
    const Value made = joined(items_of(given[0]), given[1].is(Type::unset) ? 0 : as_whole(given[1], "dim"));
    rank.spend(made.tensor().count());
    return made;
}
Value stack(Interpreter& rank, Arguments& given) {
    const Value made = stacked(items_of(given[0]));
    rank.spend(made.tensor().count());
    return made;
}

}  // namespace

std::vector<BuiltinRow> python_builtins() {
    return {{"abs", absolute},
            {"all", all_true},
            {"any", any_true},
            {"bool", to_bool},
            {"enumerate", enumerated},
            {"float", to_float},
            {"int", to_int},
            {"isinstance", is_instance},
            {"len", length},
            {"list", to_list},
            {"max", largest},
            {"min", smallest},
            {"print", print},
            {"range", range},
            {"sorted", sorted},
            {"str", to_str},
            {"sum", sum},
            {"zip", zipped}};
}

std::vector<BuiltinRow> tensor_builtins() {
    return {{"tensor", new_from},
            {"zeros", zeros},
            {"ones", ones},
            {"empty", empty},
            {"full", full},
            {"arange", arange},
            {"zeros_like", zeros_like},
            {"empty_like", empty_like},
            {"cat", cat},
            {"stack", stack}};
}

}  // namespace deadrank::sim::program
