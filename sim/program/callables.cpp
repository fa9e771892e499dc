// sim/program/callables.cpp — Functions and classes as values: calls, methods, and what stands behind a dot.
#include <algorithm>
#include <fmt/format.h>

#include "scenarios/program/program_words.h"
#include "sim/program/builtins.h"
#include "sim/program/interpreter.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

using namespace scenarios::program;

Value Interpreter::called(const Expr& expr) {
    if (expr.slot >= 0) return called_function(expr);
    std::vector<Value> arguments;
    arguments.reserve(expr.parts.size());
    for (const Expr& part : expr.parts) arguments.push_back(eval(part));
    return call_word(-1 - expr.slot, arguments);
}

Value Interpreter::called_function(const Expr& expr) {
    const Function& function = program_.functions[static_cast<std::size_t>(expr.slot)];
    Frame frame(function.locals.size());
    for (std::size_t i = 0; i < expr.parts.size(); ++i) {
        const bool usual = expr.parts[i].kind == ExprKind::absent;
        frame[i] = usual ? usual_of(expr.slot, i) : eval(expr.parts[i]);
    }
    return enter(function, std::move(frame), nullptr);
}

namespace {

// What no inner def reads ends with the def, as in Python.
void forget_unread(const Function& function, Env& own) {
    for (std::size_t i = 0; i < own.slots.size(); ++i)
        if (i >= function.read.size() || !function.read[i]) own.slots[i] = Value();
}

}  // namespace

Value Interpreter::enter(const Function& function, Frame frame, std::shared_ptr<Env> around) {
    std::shared_ptr<Env> own;
    if (function.keeps) {
        own = std::make_shared<Env>();
        own->slots = std::move(frame);
        own->outer = around;
        track(own);
    }
    Frame* const outer = std::exchange(frame_, own ? &own->slots : &frame);
    std::shared_ptr<Env> outer_own = std::exchange(own_, std::move(own));
    std::shared_ptr<Env> outer_around = std::exchange(around_, std::move(around));
    const Stmt* const from = now_;
    given_ = Value::none();
    run(function.body);
    if (function.keeps) forget_unread(function, *own_);
    frame_ = outer;
    own_ = std::move(outer_own);
    around_ = std::move(outer_around);
    now_ = from;
    return std::exchange(given_, Value::none());
}

// What a def or a lambda within another one reads of that one's names, it reads when it is called.
Value Interpreter::function_value(const Expr& expr) {
    auto made = std::make_shared<Callable>();
    made->function = expr.slot;
    if (expr.slot < 0) {
        made->name = builtin_words()[static_cast<std::size_t>(-1 - expr.slot)].name();
        return Value::of(std::move(made));
    }
    const Function& function = program_.functions[static_cast<std::size_t>(expr.slot)];
    made->name = function.name;
    if (function.within >= 0) made->around = own_;
    for (std::size_t i = 0; i < function.defaults.size(); ++i)
        made->usual.push_back(function.named ? usual_of(expr.slot, i) : eval(function.defaults[i]));
    return Value::of(std::move(made));
}

// Where a def of the program's own stands further down than its first call, it is found then.
std::vector<Value>& Interpreter::define(int function) {
    const auto& defaults = program_.functions[static_cast<std::size_t>(function)].defaults;
    std::vector<Value> found;
    for (const Expr& usual : defaults) found.push_back(eval(usual));
    return seldom().usual[function] = std::move(found);
}

Value Interpreter::usual_of(int function, std::size_t parameter) {
    const Expr& usual = program_.functions[static_cast<std::size_t>(function)].defaults[parameter];
    if (usual.kind >= ExprKind::none && usual.kind <= ExprKind::text) return eval(usual);
    auto& known = seldom().usual;
    const auto found = known.find(function);
    return (found == known.end() ? define(function) : found->second)[parameter];
}

// One argument, or as many as a list has.
void Interpreter::give(std::vector<Value>& arguments, const Expr& expr) {
    if (expr.kind != ExprKind::spread) return arguments.push_back(eval(expr));
    for (Value& value : walked(expr.parts[0])) arguments.push_back(std::move(value));
}

Value Interpreter::invoked(const Expr& expr) {
    const Value callee = eval(expr.parts[0]);
    std::vector<Value> arguments;
    for (std::size_t i = 1; i < expr.parts.size(); ++i) give(arguments, expr.parts[i]);
    return call(callee, std::move(arguments), expr.keywords);
}

Value Interpreter::call(const Value& callee, std::vector<Value> arguments,
                        const std::vector<std::string>& keywords) {
    spend(0);
    if (callee.is(Type::kind))
        return constructed(static_cast<int>(callee.number()), std::move(arguments), keywords);
    if (callee.is(Type::object)) {
        if (const auto does = attribute(callee, "__call__"))
            return call(*does, std::move(arguments), keywords);
    }
    if (!callee.is(Type::function))
        raise("TypeError", fmt::format("{} object is not callable", type_word(callee)));
    const Callable& found = callee.callable();
    if (found.function == bound_method) {
        Expr expr{.kind = ExprKind::method, .text = found.name, .slot = how_many, .keywords = keywords};
        const Value self = found.self;
        return built_in_method(expr, self, std::move(arguments));
    }
    if (found.function < 0) return call_builtin(-1 - found.function, std::move(arguments), keywords);
    return call_function(found, std::move(arguments), keywords);
}

Value Interpreter::call_function(const Callable& callee, std::vector<Value> arguments,
                                 const std::vector<std::string>& keywords) {
    const Function& function = program_.functions[static_cast<std::size_t>(callee.function)];
    if (!callee.self.is(Type::unset)) arguments.insert(arguments.begin(), callee.self);
    const std::size_t most = function.defaults.size(), plain = arguments.size() - keywords.size();
    if (plain > most)
        raise("TypeError", fmt::format("{}() takes {} positional arguments but {} were given", function.name,
                                       most, plain));
    Frame frame(function.locals.size());
    for (std::size_t i = 0; i < plain; ++i) frame[i] = std::move(arguments[i]);
    for (std::size_t i = 0; i < keywords.size(); ++i) {
        const auto end = function.locals.begin() + static_cast<std::ptrdiff_t>(most);
        const auto place = std::find(function.locals.begin(), end, keywords[i]);
        if (place == end)
            raise("TypeError",
                  fmt::format("{}() got an unexpected keyword argument '{}'", function.name, keywords[i]));
        Value& taken = frame[static_cast<std::size_t>(place - function.locals.begin())];
        if (!taken.is(Type::unset))
            raise("TypeError",
                  fmt::format("{}() got multiple values for argument '{}'", function.name, keywords[i]));
        taken = std::move(arguments[plain + i]);
    }
    for (std::size_t i = 0; i < most; ++i) {
        if (!frame[i].is(Type::unset)) continue;
        if (function.defaults[i].kind == ExprKind::absent)
            raise("TypeError", fmt::format("{}() missing 1 required positional argument: '{}'", function.name,
                                           function.locals[i]));
        frame[i] = i < callee.usual.size() ? callee.usual[i] : usual_of(callee.function, i);
    }
    return enter(function, std::move(frame), callee.around);
}

Value Interpreter::call_builtin(int place, std::vector<Value> arguments,
                                const std::vector<std::string>& keywords) {
    const BuiltinWord& word = builtin_words()[static_cast<std::size_t>(place)];
    const std::string name = word.name();
    if (!keywords.empty())
        raise("TypeError", fmt::format("{}() takes no named arguments where it is called as a value", name));
    if (word.variadic()) {
        std::vector<Value> given = {Value::new_list(std::move(arguments))};
        given.resize(word.parameters().size() + (word.keyworded() ? 1 : 0));
        if (word.keyworded()) given[1] = Value::new_dict();
        return call_word(place, given);
    }
    const auto parameters = word.parameters();
    for (std::size_t i = arguments.size(); i < parameters.size(); ++i)
        if (parameters[i].required)
            raise("TypeError", fmt::format("{}() lacks the argument '{}'", name, parameters[i].name));
    if (arguments.size() > parameters.size())
        raise("TypeError", fmt::format("{}() takes {} arguments but {} were given", name, parameters.size(),
                                       arguments.size()));
    arguments.resize(parameters.size());
    return call_word(place, arguments);
}

int Interpreter::method_of_kind(int kind, std::string_view name) const {
    for (std::size_t left = program_.classes.size(); left > 0 && kind >= 0; --left) {
        if (static_cast<std::size_t>(kind) >= program_.classes.size()) break;
        const Class& of = program_.classes[static_cast<std::size_t>(kind)];
        for (const auto& [known, place] : of.methods)
            if (known == name) return place;
        kind = of.parent;
    }
    return -1;
}

// Of the class, or of the nearest of its bases that has it.
const Value* Interpreter::field_of_kind(int kind, std::string_view name) {
    for (std::size_t left = program_.classes.size(); seldom_ && left > 0 && kind >= 0; --left) {
        if (const auto own = seldom_->kinds.find(kind); own != seldom_->kinds.end())
            if (const Value* found = find_field(own->second, name)) return found;
        kind = program_.classes[static_cast<std::size_t>(kind)].parent;
    }
    return nullptr;
}

Value Interpreter::constructed(int kind, std::vector<Value> arguments,
                               const std::vector<std::string>& keywords) {
    auto made = std::make_shared<Instance>();
    made->kind = kind;
    made->name = program_.classes[static_cast<std::size_t>(kind)].name;
    made->rank = this;
    track(made);
    const Value value = Value::of(std::move(made));
    if (const auto prepares = attribute(value, "__init__"))
        call(*prepares, std::move(arguments), keywords);
    else if (!arguments.empty())
        raise("TypeError", fmt::format("{}() takes no arguments", value.instance().name));
    return value;
}

namespace {

bool is_attribute_word(std::string_view of, std::string_view name) {
    const auto words = method_words();
    return std::any_of(words.begin(), words.end(), [&](const MethodWord& word) {
        return word.of == of && !word.called() && word.name() == name;
    });
}

}  // namespace

std::optional<Value> Interpreter::attribute(const Value& object, const std::string& name) {
    const auto bound = [&](int function, const Value& self) {
        auto made = std::make_shared<Callable>();
        made->function = function;
        made->name = name;
        made->self = self;
        return Value::of(std::move(made));
    };
    if (object.is(Type::tensor)) {
        if (const Value* known = find_field(object.tensor().attributes, name)) return *known;
        if (name == "grad") return Value::none();
        if (auto placed = device_attribute(*this, object, name)) return placed;
        if (is_attribute_word("tensor", name)) return program::method(object, name, {});
        return std::nullopt;
    }
    if (object.is(Type::kind)) {
        if (name == "__name__")
            return Value::new_text(program_.classes[static_cast<std::size_t>(object.number())].name);
        const int kind = static_cast<int>(object.number()), place = method_of_kind(kind, name);
        if (const Value* own = field_of_kind(kind, name)) return *own;
        return place < 0 ? std::nullopt : std::optional(bound(place, {}));
    }
    if (object.is(Type::text)) return device_attribute(*this, object, name);
    if (object.is(Type::group) && is_attribute_word("group", name)) return method_of(*this, object, name, {});
    if (!object.is(Type::object)) return std::nullopt;
    if (const Value* known = find_field(object.instance().fields, name)) return *known;
    if (const Value* own = field_of_kind(object.instance().kind, name)) {
        const bool method =
            own->is(Type::function) && own->callable().self.is(Type::unset) && own->callable().function >= 0;
        return method ? std::optional(bound(own->callable().function, object)) : *own;
    }
    const int place = method_of_kind(object.instance().kind, name);
    return place < 0 ? std::nullopt : std::optional(bound(place, object));
}

void Interpreter::set_attribute(const Value& object, const std::string& name, Value value) {
    if (object.is(Type::tensor)) {
        const bool own = name == "grad" || name == "data" || (name == "device" && !program_.places_tensors);
        if (is_attribute_word("tensor", name) && !own)
            raise("AttributeError",
                  fmt::format("attribute '{}' of 'torch._C.TensorBase' objects is not writable", name));
        if (name == "data") return take_data(object.tensor(), value);
        if (object.tensor().attributes.empty()) track(object.object());
        return set_field(object.tensor().attributes, name, std::move(value));
    }
    if (object.is(Type::kind))
        return set_field(seldom().kinds[static_cast<int>(object.number())], name, std::move(value));
    if (!object.is(Type::object))
        raise("AttributeError", fmt::format("{} object has no attribute '{}'", type_word(object), name));
    const int kind = object.instance().kind;
    if (kind == mesh_kind || kind == generator_kind || kind == store_kind)
        raise("AttributeError",
              fmt::format("attribute '{}' of '{}' objects is not writable", name, object.instance().name));
    set_field(object.instance().fields, name, std::move(value));
}

Value Interpreter::method(const Expr& expr) {
    const Value object = eval(expr.parts[0]);
    if (expr.kind == ExprKind::attribute) {
        if (auto found = attribute(object, expr.text)) return std::move(*found);
        if (has_method(object, expr.text)) {
            auto made = std::make_shared<Callable>();
            made->function = bound_method;
            made->name = expr.text;
            made->self = object;
            return Value::of(std::move(made));
        }
        raise("AttributeError", fmt::format("{} object has no attribute '{}'", type_word(object), expr.text));
    }
    std::vector<Value> arguments;
    arguments.reserve(expr.parts.size() - 1);
    for (std::size_t i = 1; i < expr.parts.size(); ++i) give(arguments, expr.parts[i]);
    const bool own = object.is(Type::object) || object.is(Type::kind);
    const bool set = object.is(Type::tensor) && find_field(object.tensor().attributes, expr.text);
    if (own || set) {
        if (const auto found = attribute(object, expr.text))
            return call(*found, std::move(arguments), expr.keywords);
    }
    return built_in_method(expr, object, std::move(arguments));
}

namespace {

// What the host knows of a tensor without its device.
bool tells_shape(std::string_view method) {
    constexpr std::string_view known[] = {"dim", "numel", "size", "stride", "is_contiguous"};
    return std::find(std::begin(known), std::end(known), method) != std::end(known);
}

}  // namespace

Value Interpreter::built_in_method(const Expr& expr, const Value& object, std::vector<Value> arguments) {
    if (!expr.keywords.empty())
        arguments = arranged(expr, object, std::move(arguments));
    else if (expr.slot != nothing_left)
        check_given(expr, object, arguments.size());
    if (object.is(Type::tensor)) {
        spend(object.tensor().count());
        if (object.tensor().place >= 0 && !tells_shape(expr.text)) reach_device();
        if (queues()) return noticed(queued_method(*this, object, expr.text, std::move(arguments)));
        if (auto drawn = draws_in_place(*this, object, expr.text, arguments)) return std::move(*drawn);
        if (auto made = moved(*this, object, expr.text, arguments)) return counted(std::move(*made));
        return noticed(program::method(object, expr.text, arguments));
    }
    return object.is(Type::object) ? counted(method_of(*this, object, expr.text, arguments))
                                   : method_of(*this, object, expr.text, arguments);
}

void Interpreter::remove(const Expr& target) {
    if (target.kind == ExprKind::name) {
        slot(target) = Value();
        return;
    }
    const Value object = eval(target.parts[0]);
    if (target.kind == ExprKind::attribute) {
        Fields* const fields = object.is(Type::object)   ? &object.instance().fields
                               : object.is(Type::tensor) ? &object.tensor().attributes
                                                         : nullptr;
        if (!fields || !find_field(*fields, target.text))
            raise("AttributeError",
                  fmt::format("{} object has no attribute '{}'", type_word(object), target.text));
        std::erase_if(*fields, [&](const auto& field) { return field.first == target.text; });
        return;
    }
    const bool removes = target.kind == ExprKind::index &&
                         (object.is(Type::dict) || object.is(Type::list) || is_environment(object));
    if (!removes)
        raise("TypeError", fmt::format("{} object doesn't support item deletion", type_word(object)));
    method_of(*this, object, "pop", {eval(target.parts[1])});
}

}  // namespace deadrank::sim::program
