// sim/program/expressions.cpp — Expressions, and what may stand left of an equals sign.
#include <algorithm>
#include <fmt/format.h>

#include "sim/program/builtins.h"
#include "sim/program/interpreter.h"
#include "sim/program/program_number.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

using namespace scenarios::program;

namespace {

constexpr std::size_t longest = 1 << 20;

}  // namespace

Value Interpreter::eval(const Expr& expr) {
    switch (expr.kind) {
        case ExprKind::absent:
            return {};
        case ExprKind::none:
            return Value::none();
        case ExprKind::boolean:
            return Value::boolean(expr.number != 0);
        case ExprKind::whole:
            return Value::whole(expr.number);
        case ExprKind::decimal:
            return Value::decimal(expr.number);
        case ExprKind::text:
            return Value::new_text(expr.text);
        case ExprKind::name:
            return name(expr);
        default:
            break;
    }
    ++depth_;
    struct Back {
        int& depth;
        ~Back() { --depth; }
    } back{depth_};
    if (depth_ > 96) raise("RecursionError", "maximum recursion depth exceeded");
    switch (expr.kind) {
        case ExprKind::joined:
            return joined(expr);
        case ExprKind::list:
            return listed(expr);
        case ExprKind::dict:
            return mapped(expr);
        case ExprKind::attribute:
        case ExprKind::method:
            return method(expr);
        case ExprKind::call:
            return called(expr);
        case ExprKind::index:
            return indexed(expr);
        case ExprKind::slice:
            return sliced(expr);
        case ExprKind::negate: {
            const Value value = eval(expr.parts[0]);
            return operate(Operator::multiply, value, Value::whole(-1));
        }
        case ExprKind::binary: {
            const Value left = eval(expr.parts[0]);
            const Value right = eval(expr.parts[1]);
            if (left.is(Type::tensor)) spend(left.tensor().count());
            return operate(expr.operators[0], left, right);
        }
        case ExprKind::invert:
        case ExprKind::both:
        case ExprKind::either:
        case ExprKind::choice:
            return logical(expr);
        case ExprKind::compare:
            return compared(expr);
        default:
            return comprehended(expr);
    }
}

Value& Interpreter::slot(const Expr& expr) {
    const auto place = static_cast<std::size_t>(expr.slot);
    return expr.where == Where::local ? (*frame_)[place] : globals_[place];
}

Value Interpreter::name(const Expr& expr) {
    if (expr.where == Where::constant) return constant(expr.slot);
    const Value& found = slot(expr);
    if (!found.is(Type::unset)) return found;
    if (expr.where == Where::local)
        raise("UnboundLocalError",
              fmt::format("cannot access local variable '{}' where it is not associated with a value", expr.text));
    raise("NameError", fmt::format("name '{}' is not defined", expr.text));
}

// In the order of constant_words().
Value Interpreter::constant(int place) const {
    switch (place) {
        case 0:
            return Value::whole(host_.rank());
        case 1:
            return Value::whole(host_.size());
        case 2:
            return Value::whole(host_.world().node());
        case 3:
            return Value::whole(host_.world().device().index());
        case 4:
            return Value::whole(step_);
        case 5:
            return Value::whole(host_.steps());
        case 6:
            return Value::whole(host_.world().attempt());
        default:
            return Value::decimal(infinite);
    }
}

Value Interpreter::joined(const Expr& expr) {
    std::string text;
    for (const Expr& part : expr.parts) text += shown_text(eval(part));
    spend(std::ssize(text) / 8);
    return Value::new_text(std::move(text));
}

Value Interpreter::listed(const Expr& expr) {
    std::vector<Value> items;
    items.reserve(expr.parts.size());
    for (const Expr& part : expr.parts) items.push_back(eval(part));
    return Value::new_list(std::move(items));
}

Value Interpreter::mapped(const Expr& expr) {
    Value made = Value::new_dict();
    for (std::size_t i = 0; i + 1 < expr.parts.size(); i += 2) {
        const Value key = eval(expr.parts[i]);
        made.dict().set(key, eval(expr.parts[i + 1]));
    }
    return made;
}

Value Interpreter::logical(const Expr& expr) {
    if (expr.kind == ExprKind::invert) return Value::boolean(!truth(eval(expr.parts[0])));
    if (expr.kind == ExprKind::choice)
        return truth(eval(expr.parts[1])) ? eval(expr.parts[0]) : eval(expr.parts[2]);
    const bool stops = expr.kind == ExprKind::either;
    for (std::size_t i = 0; i + 1 < expr.parts.size(); ++i) {
        Value value = eval(expr.parts[i]);
        if (truth(value) == stops) return value;
    }
    return eval(expr.parts.back());
}

Value Interpreter::compared(const Expr& expr) {
    Value left = eval(expr.parts[0]);
    for (std::size_t i = 0; i < expr.operators.size(); ++i) {
        Value right = eval(expr.parts[i + 1]);
        const Operator op = expr.operators[i];
        const bool tensors = (left.is(Type::tensor) || right.is(Type::tensor)) && op <= Operator::greater_equal;
        if (tensors && expr.operators.size() == 1 && !left.is(Type::none) && !right.is(Type::none))
            return calculated(op, left, right);
        if (!relate(op, left, right)) return Value::boolean(false);
        left = std::move(right);
    }
    return Value::boolean(true);
}

Value Interpreter::called(const Expr& expr) {
    if (expr.slot >= 0) return called_function(expr);
    std::vector<Value> arguments;
    arguments.reserve(expr.parts.size());
    for (const Expr& part : expr.parts) arguments.push_back(eval(part));
    return builtin(-1 - expr.slot)(*this, arguments);
}

Value Interpreter::called_function(const Expr& expr) {
    const Function& function = program_.functions[static_cast<std::size_t>(expr.slot)];
    Frame frame(function.locals.size());
    for (std::size_t i = 0; i < expr.parts.size(); ++i) {
        const bool usual = expr.parts[i].kind == ExprKind::absent;
        frame[i] = eval(usual ? function.defaults[i] : expr.parts[i]);
    }
    Frame* const outer = std::exchange(frame_, &frame);
    const Stmt* const from = now_;
    given_ = Value::none();
    run(function.body);
    frame_ = outer;
    now_ = from;
    return std::exchange(given_, Value::none());
}

Value Interpreter::method(const Expr& expr) {
    const Value object = eval(expr.parts[0]);
    std::vector<Value> arguments;
    for (std::size_t i = 1; i < expr.parts.size(); ++i) arguments.push_back(eval(expr.parts[i]));
    if (object.is(Type::tensor)) {
        spend(object.tensor().count());
        return program::method(object, expr.text, arguments);
    }
    return method_of(*this, object, expr.text, arguments);
}

namespace {

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
            const auto row = place_in(
                asked, rows,
                fmt::format("index {} is out of bounds for dimension 0 with size {}", asked, rows));
            const Shape inner(tensor.shape.begin() + 1, tensor.shape.end());
            if (inner.empty()) return tensor.element(row);
            return Value::of(tensor.part(row * (tensor.count() / rows), inner));
        }
        default:
            raise("TypeError", fmt::format("{} object is not subscriptable", type_word(object)));
    }
}

// From and to of a slice, as Python cuts them to what there is.
std::pair<std::int64_t, std::int64_t> ends_of(const Value& from, const Value& to, std::int64_t size) {
    const auto end = [&](const Value& value, std::int64_t otherwise) {
        if (value.is(Type::unset) || value.is(Type::none)) return otherwise;
        const std::int64_t asked = as_whole(value, "slice indices");
        return std::clamp<std::int64_t>(asked < 0 ? asked + size : asked, 0, size);
    };
    const std::int64_t first = end(from, 0);
    return {first, std::max(first, end(to, size))};
}

Value slice_of(const Value& object, const Value& from, const Value& to) {
    if (object.is(Type::list)) {
        const auto& items = object.list().items;
        const auto [first, last] = ends_of(from, to, std::ssize(items));
        return Value::new_list({items.begin() + first, items.begin() + last});
    }
    if (object.is(Type::text)) {
        const auto [first, last] = ends_of(from, to, std::ssize(object.text()));
        return Value::new_text(
            object.text().substr(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first)));
    }
    if (!object.is(Type::tensor) || object.tensor().shape.empty())
        raise("TypeError", fmt::format("{} object is not subscriptable", type_word(object)));
    const Tensor& tensor = object.tensor();
    const std::int64_t rows = tensor.shape.front();
    const auto [first, last] = ends_of(from, to, rows);
    Shape shape = tensor.shape;
    shape.front() = last - first;
    return Value::of(tensor.part(rows == 0 ? 0 : first * (tensor.count() / rows), std::move(shape)));
}

}  // namespace

Value Interpreter::indexed(const Expr& expr) {
    Value object = eval(expr.parts[0]);
    const Value index = eval(expr.parts[1]);
    if (!object.is(Type::tensor) || !index.is(Type::list)) return element_of(object, index);
    for (const Value& one_of : index.list().items) object = element_of(object, one_of);
    return object;
}

Value Interpreter::sliced(const Expr& expr) {
    const Value object = eval(expr.parts[0]);
    const Value from = eval(expr.parts[1]);
    const Value to = eval(expr.parts[2]);
    return slice_of(object, from, to);
}

std::vector<Value> Interpreter::walked(const Expr& expr) {
    std::vector<Value> items = items_of(eval(expr));
    spend(std::ssize(items));
    return items;
}

Value Interpreter::comprehended(const Expr& expr) {
    std::vector<Value> items;
    for (Value& value : walked(expr.parts[2])) {
        ++statements_;
        spend(0);
        assign(expr.parts[1], std::move(value));
        if (expr.parts.size() > 3 && !truth(eval(expr.parts[3]))) continue;
        items.push_back(eval(expr.parts[0]));
    }
    return Value::new_list(std::move(items));
}

void Interpreter::assign(const Expr& target, Value value) {
    if (target.kind == ExprKind::name) {
        slot(target) = std::move(value);
        return;
    }
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
    Value object = eval(target.parts[0]);
    if (!object.is(Type::tensor) && holds(value, object)) raise("ValueError", "a list or dict cannot hold itself");
    if (target.kind == ExprKind::slice) {
        const Value part = sliced(target);
        if (!part.is(Type::tensor)) raise("TypeError", "only a slice of a tensor can be assigned");
        return program::assign(part.tensor(), value);
    }
    Value index = eval(target.parts[1]);
    if (object.is(Type::tensor) && index.is(Type::list)) {
        const std::vector<Value> all = index.list().items;
        if (all.empty()) raise("IndexError", "an empty index");
        for (std::size_t i = 0; i + 1 < all.size(); ++i) object = element_of(object, all[i]);
        index = all.back();
    }
    if (object.is(Type::dict)) return object.dict().set(index, std::move(value));
    if (object.is(Type::list)) {
        auto& items = object.list().items;
        const auto place = place_in(as_whole(index, "list indices"), std::ssize(items),
                                    "list assignment index out of range");
        items[static_cast<std::size_t>(place)] = std::move(value);
        return;
    }
    if (!object.is(Type::tensor))
        raise("TypeError", fmt::format("{} object does not support item assignment", type_word(object)));
    const std::int64_t asked = as_whole(index, "tensor indices");
    const Value part = slice_of(object, Value::whole(asked),
                                asked == -1 ? Value::none() : Value::whole(asked + 1));
    if (part.tensor().count() == 0) (void)element_of(object, index);  // raises
    program::assign(part.tensor(), value);
}

// x += y changes a list or a tensor in place, as in Python.
void Interpreter::augment(const Stmt& stmt) {
    const Expr& target = stmt.parts[0];
    const Value old = eval(target);
    const Value by = eval(stmt.parts[1]);
    if (old.is(Type::tensor)) {
        spend(old.tensor().count());
        const Value sum = calculated(stmt.op, old, by);
        if (sum.tensor().shape != old.tensor().shape)
            raise("RuntimeError",
                  fmt::format("output with shape {} doesn't match the broadcast shape {}",
                              shape_text(old.tensor().shape), shape_text(sum.tensor().shape)));
        return program::assign(old.tensor(), sum);
    }
    if (old.is(Type::list) && stmt.op == Operator::add) {
        std::vector<Value> more = items_of(by);
        for (Value& item : more) {
            if (holds(item, old)) raise("ValueError", "a list cannot hold itself");
            old.list().items.push_back(std::move(item));
        }
        if (old.list().items.size() > longest) raise("MemoryError", "a list of more than a million values");
        return;
    }
    assign(target, operate(stmt.op, old, by));
}

namespace {

[[noreturn]] void refuse_types(Operator op, const Value& a, const Value& b) {
    static constexpr std::string_view signs[] = {"+", "-", "*", "/", "//", "%", "**"};
    raise("TypeError", fmt::format("unsupported operand type(s) for {}: {} and {}",
                                   signs[static_cast<std::size_t>(op)], type_word(a), type_word(b)));
}

Value repeated(const Value& what, std::int64_t times) {
    const std::size_t each = what.is(Type::list) ? what.list().items.size() : what.text().size();
    times = std::max<std::int64_t>(times, 0);
    if (times > 0 && each > longest / static_cast<std::size_t>(times))
        raise("MemoryError", "more than a million values");
    std::vector<Value> items;
    std::string text;
    for (; times > 0; --times) {
        if (what.is(Type::list))
            items.insert(items.end(), what.list().items.begin(), what.list().items.end());
        else
            text += what.text();
    }
    return what.is(Type::list) ? Value::new_list(std::move(items)) : Value::new_text(std::move(text));
}

bool is_sequence(const Value& value) { return value.is(Type::list) || value.is(Type::text); }

}  // namespace

Value operate(Operator op, const Value& a, const Value& b) {
    if (a.is_number() && b.is_number()) return arithmetic(op, a, b);
    if (a.is(Type::tensor) || b.is(Type::tensor)) return calculated(op, a, b);
    if (op == Operator::add && a.is(Type::text) && b.is(Type::text)) {
        if (a.text().size() + b.text().size() > longest) raise("MemoryError", "a text of more than a million letters");
        return Value::new_text(a.text() + b.text());
    }
    if (op == Operator::add && a.is(Type::text))
        raise("TypeError", fmt::format("can only concatenate str (not {}) to str", type_word(b)));
    if (op == Operator::add && a.is(Type::list) && b.is(Type::list)) {
        std::vector<Value> items = a.list().items;
        items.insert(items.end(), b.list().items.begin(), b.list().items.end());
        if (items.size() > longest) raise("MemoryError", "a list of more than a million values");
        return Value::new_list(std::move(items));
    }
    if (op == Operator::multiply && is_sequence(a) && b.is(Type::whole)) return repeated(a, b.number());
    if (op == Operator::multiply && a.is(Type::whole) && is_sequence(b)) return repeated(b, a.number());
    refuse_types(op, a, b);
}

bool relate(Operator op, const Value& a, const Value& b) {
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
            if (b.is(Type::dict))
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
    static constexpr std::string_view signs[] = {"<", "<=", ">", ">="};
    raise("TypeError", fmt::format("'{}' not supported between instances of {} and {}",
                                   signs[static_cast<std::size_t>(op) - static_cast<std::size_t>(Operator::less)],
                                   type_word(a), type_word(b)));
}

}  // namespace deadrank::sim::program
