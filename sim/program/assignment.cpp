// sim/program/assignment.cpp — Elements and slices, read and written: what may stand left of an equals sign.
#include <algorithm>
#include <fmt/format.h>

#include "sim/program/builtins.h"
#include "sim/program/interpreter.h"
#include "sim/program/program_number.h"
#include "sim/program/program_tensor.h"
#include "sim/program/queues.h"

namespace deadrank::sim::program {

using namespace scenarios::program;

Value element_of(const Value& object, const Value& index) {
    switch (object.type()) {
        case Type::list: {
            const auto& items = object.list().items;
            const auto place =
                place_in(as_whole(index, "list indices"), std::ssize(items), "list index out of range");
            return items[static_cast<std::size_t>(place)];
        }
        case Type::text: {
            const auto place = place_in(as_whole(index, "string indices"), std::ssize(object.text()),
                                        "string index out of range");
            return Value::new_text(std::string(1, object.text()[static_cast<std::size_t>(place)]));
        }
        case Type::dict: {
            const Value* found = object.dict().find(index);
            if (!found) raise("KeyError", repr(index));
            return *found;
        }
        case Type::tensor: {
            const Tensor& tensor = object.tensor();
            if (tensor.shape.empty())
                raise("IndexError", "invalid index of a 0-dim tensor. Use `tensor.item()` in Python");
            const std::int64_t asked = as_whole(index, "tensor indices"), rows = tensor.shape.front();
            const auto row =
                place_in(asked, rows,
                         fmt::format("index {} is out of bounds for dimension 0 with size {}", asked, rows));
            const Shape inner(tensor.shape.begin() + 1, tensor.shape.end());
            if (inner.empty()) return tensor.element(row);
            return Value::of(tensor.part(row * (tensor.count() / rows), inner));
        }
        default:
            raise("TypeError", fmt::format("{} object is not subscriptable", type_word(object)));
    }
}

Value slice_of(const Value& object, const Value& from, const Value& to, const Value& by) {
    const bool steps = !by.is(Type::unset) && !by.is(Type::none);
    if (object.is(Type::list) || object.is(Type::text)) {
        const std::int64_t size =
            object.is(Type::list) ? std::ssize(object.list().items) : std::ssize(object.text());
        std::vector<Value> items;
        std::string letters;
        for (const std::int64_t place : slice_places(from, to, by, size)) {
            const auto at = static_cast<std::size_t>(place);
            if (object.is(Type::list))
                items.push_back(object.list().items[at]);
            else
                letters += object.text()[at];
        }
        if (object.is(Type::list) && object.list().fixed) return Value::new_tuple(std::move(items));
        return object.is(Type::list) ? Value::new_list(std::move(items))
                                     : Value::new_text(std::move(letters));
    }
    if (!object.is(Type::tensor) || object.tensor().shape.empty())
        raise("TypeError", fmt::format("{} object is not subscriptable", type_word(object)));
    if (steps) return picked(object, Value::range(from, to, by));
    const Tensor& tensor = object.tensor();
    const std::int64_t rows = tensor.shape.front();
    const auto end = [&](const Value& value, std::int64_t otherwise) {
        if (value.is(Type::unset) || value.is(Type::none)) return otherwise;
        const std::int64_t asked = as_whole(value, "slice indices");
        return std::clamp<std::int64_t>(asked < 0 ? asked + rows : asked, 0, rows);
    };
    const std::int64_t first = end(from, 0), last = std::max(first, end(to, rows));
    Shape shape = tensor.shape;
    shape.front() = last - first;
    return Value::of(tensor.part(rows == 0 ? 0 : first * (tensor.count() / rows), std::move(shape)));
}

void Interpreter::assign(const Expr& target, Value value) {
    if (target.kind == ExprKind::name) {
        slot(target) = std::move(value);
        return;
    }
    if (target.kind == ExprKind::attribute)
        return set_attribute(eval(target.parts[0]), target.text, std::move(value));
    if (target.kind != ExprKind::list) return assign_index(target, std::move(value));
    std::vector<Value> items = items_of(value);
    if (items.size() > target.parts.size())
        raise("ValueError", fmt::format("too many values to unpack (expected {})", target.parts.size()));
    if (items.size() < target.parts.size())
        raise("ValueError", fmt::format("not enough values to unpack (expected {}, got {})",
                                        target.parts.size(), items.size()));
    for (std::size_t i = 0; i < items.size(); ++i) assign(target.parts[i], std::move(items[i]));
}

void Interpreter::assign_index(const Expr& target, Value value) {
    const Value object = eval(target.parts[0]);
    if (queues() && object.is(Type::tensor)) return assign_queued(target, object, value);
    if (!object.is(Type::tensor) && holds(value, object))
        raise("ValueError", "a list or dict cannot hold itself");
    if (target.kind == ExprKind::slice) {
        if (!object.is(Type::tensor)) raise("TypeError", "only a slice of a tensor can be assigned");
        const Value from = eval(target.parts[1]), to = eval(target.parts[2]);
        if (target.parts.size() > 3) return put(object, Value::range(from, to, eval(target.parts[3])), value);
        return program::assign(slice_of(object, from, to).tensor(), value);
    }
    const Value index = eval(target.parts[1]);
    if (is_environment(object)) {
        if (value.is(Type::none)) raise("TypeError", "str expected, not 'NoneType'");
        return set_variable(object, index, value);
    }
    if (object.is(Type::dict)) return object.dict().set(index, std::move(value));
    if (object.is(Type::list)) {
        if (object.list().fixed) raise("TypeError", "'tuple' object does not support item assignment");
        auto& items = object.list().items;
        const auto place = place_in(as_whole(index, "list indices"), std::ssize(items),
                                    "list assignment index out of range");
        items[static_cast<std::size_t>(place)] = std::move(value);
        return;
    }
    if (object.is(Type::tensor)) return put(object, index, value);
    if (const auto set = attribute(object, "__setitem__")) {
        call(*set, {index, value});
        return;
    }
    raise("TypeError", fmt::format("{} object does not support item assignment", type_word(object)));
}

void Interpreter::assign_queued(const Expr& target, const Value& object, const Value& value) {
    const bool slice = target.kind == ExprKind::slice;
    Value index = slice ? Value::range(eval(target.parts[1]), eval(target.parts[2]),
                                       target.parts.size() > 3 ? eval(target.parts[3]) : Value())
                        : eval(target.parts[1]);
    if (slice && target.parts.size() < 4) {
        const auto& ends = index.list().items;
        return queues()->copy(slice_of(object, ends[0], ends[1]), value, true);
    }
    queues()->change(
        object, {index, value},
        [](const Value& into, std::vector<Value>& given) { put(into, given[0], given[1]); }, true);
}

// Python says which sign stood there: += or +.
Value Interpreter::operated_in_place(Operator op, const Value& a, const Value& b) {
    const auto does = [&] { return a.is(Type::tensor) ? calculated_now(op, a, b) : operate(op, a, b); };
    if (a.is(Type::object) || b.is(Type::object)) return does();
    std::string says;
    try {
        return does();
    } catch (const RankFailure& failure) {
        says = failure.what();
    }
    const auto end = says.starts_with("TypeError: unsupported operand type(s) for ")
                         ? says.find(": ", says.find(" for "))
                         : std::string::npos;
    if (end != std::string::npos) says.insert(end, "=");
    throw RankFailure(says);
}

// x += y changes a list or a tensor in place, as in Python.
void Interpreter::augment(const Stmt& stmt) {
    const Expr& target = stmt.parts[0];
    const Value old = eval(target);
    const Value by = eval(stmt.parts[1]);
    if (old.is(Type::tensor)) {
        spend(old.tensor().count());
        const Value sum = operated_in_place(stmt.op, old, by);
        if (sum.tensor().shape != old.tensor().shape)
            raise("RuntimeError",
                  fmt::format("output with shape {} doesn't match the broadcast shape {}",
                              shape_text(old.tensor().shape), shape_text(sum.tensor().shape)));
        if (old.tensor().whole() && !sum.tensor().whole())
            raise("RuntimeError", fmt::format("result type Float can't be cast to the desired output type {}",
                                              old.tensor().dtype == Dtype::i64 ? "Long" : "Int"));
        const bool within = target.kind == ExprKind::index && eval(target.parts[0]).is(Type::tensor);
        if (within) return assign_index(target, sum);  // what stands between brackets may be a copy
        if (queues()) return queues()->copy(old, sum, true);
        return program::assign(old.tensor(), sum);
    }
    if (old.is(Type::list) && !old.list().fixed && stmt.op == Operator::add) {
        std::vector<Value> more = items_of(by);
        for (Value& item : more) {
            if (holds(item, old)) raise("ValueError", "a list cannot hold itself");
            old.list().items.push_back(std::move(item));
        }
        if (old.list().items.size() > most_values)
            raise("MemoryError", "a list of more than a million values");
        return;
    }
    assign(target, counted(operated_in_place(stmt.op, old, by)));
}

}  // namespace deadrank::sim::program
