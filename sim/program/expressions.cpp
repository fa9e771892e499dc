// sim/program/expressions.cpp — Expressions, and what may stand left of an equals sign.
#include <algorithm>
#include <fmt/format.h>

#include "sim/program/builtins.h"
#include "sim/program/interpreter.h"
#include "sim/program/program_number.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

using namespace scenarios::program;

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
        case ExprKind::negate:
            return operate(Operator::multiply, eval(expr.parts[0]), Value::whole(-1));
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
              fmt::format("cannot access local variable '{}' where it is not associated with a value",
                          expr.text));
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
        const bool tensors =
            (left.is(Type::tensor) || right.is(Type::tensor)) && op <= Operator::greater_equal;
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

}  // namespace deadrank::sim::program
