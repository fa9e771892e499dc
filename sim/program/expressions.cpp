// sim/program/expressions.cpp — Expressions, and what may stand left of an equals sign.
#include <algorithm>
#include <fmt/format.h>

#include "scenarios/model/value.h"
#include "sim/program/builtins.h"
#include "sim/program/interpreter.h"
#include "sim/program/program_number.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

using namespace scenarios::program;

namespace {

// A number or a word that stands in the program.
inline Value constant_of(const Expr& expr) {
    switch (expr.kind) {
        case ExprKind::boolean:
            return Value::boolean(expr.number != 0);
        case ExprKind::whole:
            return Value::whole(expr.number);
        case ExprKind::decimal:
            return Value::decimal(expr.number);
        case ExprKind::text:
            return Value::new_text(expr.text);
        default:
            return Value::none();
    }
}

}  // namespace

Value literal(const Expr& expr) {
    std::vector<Value> items;
    switch (expr.kind) {
        case ExprKind::negate:
            return operate(Operator::multiply, literal(expr.parts[0]), Value::whole(-1));
        case ExprKind::list:
            for (const Expr& part : expr.parts) items.push_back(literal(part));
            return expr.number == tuple_number ? Value::new_tuple(std::move(items))
                                               : Value::new_list(std::move(items));
        case ExprKind::dict: {
            Value made = Value::new_dict();
            for (std::size_t i = 0; i + 1 < expr.parts.size(); i += 2)
                made.dict().set(literal(expr.parts[i]), literal(expr.parts[i + 1]));
            return made;
        }
        default:
            return constant_of(expr);
    }
}

Value Interpreter::eval(const Expr& expr) {
    switch (expr.kind) {
        case ExprKind::absent:
            return {};
        case ExprKind::none:
        case ExprKind::boolean:
        case ExprKind::whole:
        case ExprKind::decimal:
        case ExprKind::text:
            return constant_of(expr);
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
        case ExprKind::invoke:
            return invoked(expr);
        case ExprKind::index:
            return noticed(indexed(expr));
        case ExprKind::slice:
            return counted(sliced(expr));
        case ExprKind::negate:
            return operated(Operator::multiply, eval(expr.parts[0]), Value::whole(-1));
        case ExprKind::binary: {
            const Value left = eval(expr.parts[0]);
            const Value right = eval(expr.parts[1]);
            if (left.is(Type::tensor)) spend(left.tensor().count());
            return operated(expr.operators[0], left, right);
        }
        case ExprKind::invert:
        case ExprKind::both:
        case ExprKind::either:
        case ExprKind::choice:
            return logical(expr);
        case ExprKind::compare:
            return compared(expr);
        default:
            return unusual(expr);
    }
}

// What no inner loop is made of.
Value Interpreter::unusual(const Expr& expr) {
    switch (expr.kind) {
        case ExprKind::function:
            return function_value(expr);
        case ExprKind::kind:
            return Value::kind(expr.slot);
        case ExprKind::formatted:
            return formatted(expr);
        case ExprKind::spread:
            raise("SyntaxError", "can't use starred expression here");
        case ExprKind::flip:
            return counted(flipped(eval(expr.parts[0])));
        case ExprKind::range:
            return Value::range(eval(expr.parts[0]), eval(expr.parts[1]),
                                expr.parts.size() > 2 ? eval(expr.parts[2]) : Value());
        default:
            return comprehended(expr);
    }
}

Value& Interpreter::slot(const Expr& expr) {
    const auto place = static_cast<std::size_t>(expr.slot);
    if (expr.where == Where::local) return (*frame_)[place];
    if (expr.where == Where::global) return globals_[place];
    Env* env = around_.get();
    for (std::int64_t up = expr.number; up > 1; --up) env = env->outer.get();
    return env->slots[place];
}

Value Interpreter::name(const Expr& expr) {
    if (expr.where == Where::constant) return constant(expr.slot);
    const Value& found = slot(expr);
    if (!found.is(Type::unset)) return found;
    if (expr.where == Where::outer)
        raise("NameError", fmt::format("cannot access free variable '{}' where it is not associated with a "
                                       "value in enclosing scope",
                                       expr.text));
    if (expr.where == Where::local)
        raise("UnboundLocalError",
              fmt::format("cannot access local variable '{}' where it is not associated with a value",
                          expr.text));
    raise("NameError", fmt::format("name '{}' is not defined", expr.text));
}

// As its launcher set it, whatever device the rank has taken since; without one, all take the first.
std::int64_t Interpreter::local_rank() const {
    const auto said = host_.world().env().get("LOCAL_RANK");
    const auto number = said ? scenarios::parse_whole(*said) : std::nullopt;
    return number ? *number : host_.world().device().index();
}

// In the order of constant_words().
Value Interpreter::constant(int place) {
    switch (place) {
        case 0:
            return Value::whole(host_.rank());
        case 1:
            return Value::whole(host_.size());
        case 2:
            return Value::whole(host_.world().node());
        case 3:
            return Value::whole(local_rank());
        case 4:
            return Value::whole(step_);
        case 5:
            return Value::whole(host_.steps());
        case 6:
            return Value::whole(host_.world().attempt());
        case 7:
            return Value::decimal(infinite);
        case 8:
            return Value::decimal(not_a_number);
        default:
            return environment_of(*this);
    }
}

Value Interpreter::formatted(const Expr& expr) {
    Value value = eval(expr.parts[0]);
    look_at(value);
    if (expr.number == 'r') value = Value::new_text(repr(value));
    return Value::new_text(format_text(value, expr.text));
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
    for (const Expr& part : expr.parts) give(items, part);
    return expr.number == tuple_number ? Value::new_tuple(std::move(items))
                                       : Value::new_list(std::move(items));
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
    if (expr.kind == ExprKind::invert) return Value::boolean(!is_true(eval(expr.parts[0])));
    if (expr.kind == ExprKind::choice)
        return is_true(eval(expr.parts[1])) ? eval(expr.parts[0]) : eval(expr.parts[2]);
    const bool stops = expr.kind == ExprKind::either;
    for (std::size_t i = 0; i + 1 < expr.parts.size(); ++i) {
        Value value = eval(expr.parts[i]);
        if (is_true(value) == stops) return value;
    }
    return eval(expr.parts.back());
}

Value Interpreter::compared(const Expr& expr) {
    Value left = eval(expr.parts[0]);
    for (std::size_t i = 0; i < expr.operators.size(); ++i) {
        Value right = eval(expr.parts[i + 1]);
        const Operator op = expr.operators[i];
        const bool tensors =
            (left.is(Type::tensor) || right.is(Type::tensor)) && op <= Operator::greater_equal;
        if (tensors && expr.operators.size() == 1 && !left.is(Type::none) && !right.is(Type::none))
            return operated(op, left, right);
        if (queues()) look_at(left), look_at(right);
        if (!relate(op, left, right)) return Value::boolean(false);
        left = std::move(right);
    }
    return Value::boolean(true);
}

Value Interpreter::indexed(const Expr& expr) {
    const Value object = eval(expr.parts[0]);
    const Value index = eval(expr.parts[1]);
    if (object.is(Type::tensor))
        return queues() ? queued_element(*this, object, index) : picked(object, index);
    if (object.is(Type::object) && object.instance().kind == mesh_kind)
        return mesh_part(*this, object, index);
    if (is_environment(object)) {
        const auto found = variable_in(object, index);
        if (!found) raise("KeyError", repr(index));
        return Value::new_text(*found);
    }
    if (object.is(Type::object)) {
        if (const auto get = attribute(object, "__getitem__")) return call(*get, {index});
    }
    return element_of(object, index);
}

Value Interpreter::sliced(const Expr& expr) {
    const Value object = eval(expr.parts[0]);
    const Value from = eval(expr.parts[1]);
    const Value to = eval(expr.parts[2]);
    const Value by = expr.parts.size() > 3 ? eval(expr.parts[3]) : Value();
    if (queues() && object.is(Type::tensor) && expr.parts.size() > 3)
        return queued_element(*this, object, Value::range(from, to, by));
    return slice_of(object, from, to, by);
}

std::vector<Value> Interpreter::walked(const Expr& expr) {
    const Value walks = eval(expr);
    if (walks.is(Type::tensor) && walks.tensor().shape.size() == 1) look_at(walks);  // numbers
    std::vector<Value> items = items_of(walks);
    spend(std::ssize(items));
    return items;
}

// What its names held before, they hold again afterwards.
void Interpreter::keep(const Expr& target, std::vector<std::pair<Value*, Value>>& kept) {
    if (target.kind == ExprKind::list)
        for (const Expr& part : target.parts) keep(part, kept);
    if (target.kind != ExprKind::name) return;
    Value& held = slot(target);
    if (!held.is(Type::unset)) kept.emplace_back(&held, held);
}

Value Interpreter::comprehended(const Expr& expr) {
    std::vector<Value> items;
    const bool of_dict = expr.number == 1;
    const Value dict = of_dict ? Value::new_dict() : Value::none();
    std::vector<std::pair<Value*, Value>> kept;
    for (std::size_t clause = of_dict ? 2 : 1; clause < expr.parts.size(); clause += 3)
        keep(expr.parts[clause], kept);
    comprehend(expr, of_dict ? 2 : 1, items, dict);
    for (auto& [place, held] : kept) *place = std::move(held);
    return of_dict ? dict : Value::new_list(std::move(items));
}

// Each `for` walks within the one before it.
void Interpreter::comprehend(const Expr& expr, std::size_t clause, std::vector<Value>& items,
                             const Value& dict) {
    if (clause >= expr.parts.size()) {
        if (expr.number == 1) {
            const Value key = eval(expr.parts[0]);
            dict.dict().set(key, eval(expr.parts[1]));
        } else {
            items.push_back(eval(expr.parts[0]));
            if (items.size() > most_values) raise("MemoryError", "a list of more than a million values");
        }
        return;
    }
    for (Value& value : walked(expr.parts[clause + 1])) {
        ++statements_;
        spend(0);
        assign(expr.parts[clause], std::move(value));
        const Expr& condition = expr.parts[clause + 2];
        if (condition.kind != ExprKind::absent && !is_true(eval(condition))) continue;
        comprehend(expr, clause + 3, items, dict);
    }
}

}  // namespace deadrank::sim::program
