// sim/program/program_value.cpp — Python's rules for truth, equality and text.
#include "sim/program/program_value.h"

#include <algorithm>
#include <fmt/format.h>

#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

namespace {

template <class T>
T& as(const std::shared_ptr<Object>& object) {
    return static_cast<T&>(*object);
}

void take_fields(Fields& fields, std::vector<Value>& pending) {
    for (auto& [name, item] : fields) pending.push_back(std::move(item));
    fields.clear();
}

// Takes what a container held out of it first, so that no end of one waits for that of another.
void unwind(std::vector<Value>& pending) {
    while (!pending.empty()) {
        Value value = std::move(pending.back());
        pending.pop_back();
        if (!value.held_once()) continue;
        if (value.is(Type::list)) {
            for (Value& item : value.list().items) pending.push_back(std::move(item));
            value.list().items.clear();
        } else if (value.is(Type::dict)) {
            for (auto& [key, item] : value.dict().items) pending.push_back(std::move(item));
            value.dict().items.clear();
        } else if (value.is(Type::object)) {
            take_fields(value.instance().fields, pending);
        } else if (value.is(Type::tensor)) {
            take_fields(value.tensor().attributes, pending);
        }
    }
}

void unwind_fields(Fields& fields) {
    if (fields.empty()) return;
    std::vector<Value> pending;
    take_fields(fields, pending);
    unwind(pending);
}

}  // namespace

void too_deep() { raise("RecursionError", "a list in a list, more than 16 deep"); }

void raise(std::string_view kind, std::string_view says) {
    throw RankFailure(says.empty() ? std::string(kind) : fmt::format("{}: {}", kind, says));
}

List::~List() { unwind(items); }
Dict::~Dict() {
    std::vector<Value> pending;
    for (auto& [key, value] : items) pending.push_back(std::move(value));
    unwind(pending);
}
Tensor::~Tensor() { unwind_fields(attributes); }
Instance::~Instance() { unwind_fields(fields); }

Value* find_field(Fields& fields, std::string_view name) {
    for (auto& [known, value] : fields)
        if (known == name) return &value;
    return nullptr;
}

void set_field(Fields& fields, std::string_view name, Value value) {
    if (Value* known = find_field(fields, name))
        *known = std::move(value);
    else
        fields.emplace_back(name, std::move(value));
}

Value Value::new_text(std::string value) {
    auto object = std::make_shared<Text>();
    object->text = std::move(value);
    return {Type::text, std::move(object)};
}
Value Value::new_list(std::vector<Value> items) {
    auto object = std::make_shared<List>();
    object->items = std::move(items);
    return {Type::list, std::move(object)};
}
Value Value::new_tuple(std::vector<Value> items) {
    Value made = new_list(std::move(items));
    made.list().fixed = true;
    return made;
}
Value Value::new_dict() { return {Type::dict, std::make_shared<Dict>()}; }
Value Value::of(std::shared_ptr<Tensor> tensor) { return {Type::tensor, std::move(tensor)}; }
Value Value::of(std::shared_ptr<Group> group) { return {Type::group, std::move(group)}; }
Value Value::of(std::shared_ptr<Handle> handle) { return {Type::handle, std::move(handle)}; }
Value Value::of(std::shared_ptr<Instance> instance) { return {Type::object, std::move(instance)}; }
Value Value::of(std::shared_ptr<Callable> callable) { return {Type::function, std::move(callable)}; }
Value Value::range(Value from, Value to, Value by) {
    auto object = std::make_shared<List>();
    object->items = {std::move(from), std::move(to), std::move(by)};
    return {Type::range, std::move(object)};
}

const std::string& Value::text() const { return as<Text>(object_).text; }
List& Value::list() const { return as<List>(object_); }
Dict& Value::dict() const { return as<Dict>(object_); }
Tensor& Value::tensor() const { return as<Tensor>(object_); }
std::shared_ptr<Tensor> Value::shared_tensor() const { return std::static_pointer_cast<Tensor>(object_); }
Group& Value::group() const { return as<Group>(object_); }
Handle& Value::handle() const { return as<Handle>(object_); }
Instance& Value::instance() const { return as<Instance>(object_); }
Callable& Value::callable() const { return as<Callable>(object_); }

Value* Dict::find(const Value& key) {
    for (auto& [known, value] : items)
        if (equal(known, key)) return &value;
    return nullptr;
}

namespace {

// Objects are keys by what they are, tuples by what is in them.
bool is_key(const Value& key) {
    if (key.is(Type::list))
        return key.list().fixed && std::all_of(key.list().items.begin(), key.list().items.end(), is_key);
    return key.is_number() || key.is(Type::text) || key.is(Type::none);
}

}  // namespace

void Dict::set(const Value& key, Value value) {
    if (!is_key(key)) raise("TypeError", fmt::format("unhashable type: {}", type_word(key)));
    if (Value* known = find(key))
        *known = std::move(value);
    else
        items.emplace_back(key, std::move(value));
}

std::string type_word(const Value& value) {
    switch (value.type()) {
        case Type::boolean:
            return "'bool'";
        case Type::whole:
            return "'int'";
        case Type::decimal:
            return "'float'";
        case Type::text:
            return "'str'";
        case Type::list:
            return value.list().fixed ? "'tuple'" : "'list'";
        case Type::dict:
            return "'dict'";
        case Type::tensor:
            return "'Tensor'";
        case Type::group:
            return "'ProcessGroup'";
        case Type::handle:
            return "'Work'";
        case Type::object:
            return fmt::format("'{}'", value.instance().name);
        case Type::kind:
            return "'type'";
        case Type::function:
            return "'function'";
        case Type::range:
            return "'slice'";
        default:
            return "'NoneType'";
    }
}

std::string type_name(const Value& value) {
    const std::string quoted = type_word(value);
    return quoted.substr(1, quoted.size() - 2);
}

// Five digits tell all 65536ths apart.
std::string decimal_text(Number value) {
    if (value == not_a_number) return "nan";
    if (value >= infinite || value <= -infinite) return value > 0 ? "inf" : "-inf";
    constexpr Wide scale = 100'000;
    const bool negative = value < 0;
    const Wide magnitude = negative ? -Wide{value} : Wide{value};
    const Wide digits = (magnitude * scale + one / 2) / one;
    std::string fraction = fmt::format("{:05d}", static_cast<std::int64_t>(digits % scale));
    while (fraction.size() > 1 && fraction.back() == '0') fraction.pop_back();
    return fmt::format("{}{}.{}", negative ? "-" : "", static_cast<std::int64_t>(digits / scale), fraction);
}

namespace {

std::string quoted(const std::string& text) {
    const char quote =
        text.find('\'') != std::string::npos && text.find('"') == std::string::npos ? '"' : '\'';
    return fmt::format("{}{}{}", quote, text, quote);
}

std::string repr_at(const Value& value, int depth) {
    if (depth > deepest_value) too_deep();
    std::string out;
    switch (value.type()) {
        case Type::boolean:
            return value.number() ? "True" : "False";
        case Type::whole:
            return std::to_string(value.number());
        case Type::decimal:
            return decimal_text(value.number());
        case Type::text:
            return quoted(value.text());
        case Type::list:
            for (const Value& item : value.list().items)
                out += (out.empty() ? "" : ", ") + repr_at(item, depth + 1);
            if (value.list().fixed) return "(" + out + (value.list().items.size() == 1 ? ",)" : ")");
            return "[" + out + "]";
        case Type::dict:
            for (const auto& [key, item] : value.dict().items)
                out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", repr_at(key, depth + 1),
                                   repr_at(item, depth + 1));
            return "{" + out + "}";
        case Type::tensor:
            return tensor_text(value.tensor());
        case Type::group:
            return value.group().name;
        case Type::handle:
            return "<Work>";
        case Type::object:
            if (const auto says = own_answer(value, "__repr__"); says && says->is(Type::text))
                return says->text();
            if (value.instance().kind != namespace_kind)
                return fmt::format("<{} object>", value.instance().name);
            for (const auto& [name, item] : value.instance().fields)
                out += fmt::format("{}{}={}", out.empty() ? "" : ", ", name, repr_at(item, depth + 1));
            return "namespace(" + out + ")";
        case Type::kind:
            return "<class>";
        case Type::function:
            return fmt::format("<function {}>", value.callable().name);
        default:
            return "None";
    }
}

bool equal_at(const Value& a, const Value& b, int depth) {
    if (depth > deepest_value) too_deep();
    if (a.is_number() && b.is_number()) {
        if (!a.is(Type::decimal) && !b.is(Type::decimal)) return a.number() == b.number();
        return as_decimal(a) == as_decimal(b) && !is_nan(a);
    }
    if (a.is(Type::object))
        if (const auto same = own_answer(a, "__eq__", {b})) return truth(*same);
    if (b.is(Type::object) && !a.is(Type::object))
        if (const auto same = own_answer(b, "__eq__", {a})) return truth(*same);
    if (a.type() != b.type()) return false;
    switch (a.type()) {
        case Type::text:
            return a.text() == b.text();
        case Type::list:
            return std::equal(a.list().items.begin(), a.list().items.end(), b.list().items.begin(),
                              b.list().items.end(),
                              [&](const Value& x, const Value& y) { return equal_at(x, y, depth + 1); });
        case Type::dict:
            return a.dict().items.size() == b.dict().items.size() &&
                   std::all_of(a.dict().items.begin(), a.dict().items.end(), [&](const auto& item) {
                       const Value* other = b.dict().find(item.first);
                       return other && equal_at(item.second, *other, depth + 1);
                   });
        case Type::tensor: {
            const auto x = a.tensor().data(), y = b.tensor().data();
            return a.tensor().shape == b.tensor().shape && std::equal(x.begin(), x.end(), y.begin());
        }
        case Type::none:
            return true;
        case Type::kind:
            return a.number() == b.number();
        case Type::function: {
            const Callable &one = a.callable(), &other = b.callable();
            return a.same_object(b) || (one.function == other.function && one.around == other.around &&
                                        one.self.same_object(other.self));
        }
        default:
            return a.same_object(b);
    }
}

bool holds_at(const Value& container, const Value& sought, int depth) {
    if (depth > deepest_value) too_deep();
    if (container.same_object(sought)) return true;
    if (container.is(Type::list))
        return std::any_of(container.list().items.begin(), container.list().items.end(),
                           [&](const Value& item) { return holds_at(item, sought, depth + 1); });
    if (container.is(Type::dict))
        return std::any_of(container.dict().items.begin(), container.dict().items.end(),
                           [&](const auto& item) { return holds_at(item.second, sought, depth + 1); });
    return false;
}

}  // namespace

std::string repr(const Value& value) { return repr_at(value, 0); }
std::string shown_text(const Value& value) {
    if (value.is(Type::object))
        if (const auto says = own_answer(value, "__str__"); says && says->is(Type::text)) return says->text();
    return value.is(Type::text) ? value.text() : repr(value);
}
bool equal(const Value& a, const Value& b) { return equal_at(a, b, 0); }
bool holds(const Value& container, const Value& sought) { return holds_at(container, sought, 0); }

bool is_nan(const Value& value) { return value.is(Type::decimal) && value.number() == not_a_number; }

bool truth(const Value& value) {
    switch (value.type()) {
        case Type::boolean:
        case Type::whole:
        case Type::decimal:
            return value.number() != 0;
        case Type::text:
            return !value.text().empty();
        case Type::list:
            return !value.list().items.empty();
        case Type::dict:
            return !value.dict().items.empty();
        case Type::tensor:
            if (value.tensor().count() != 1)
                raise("RuntimeError", "Boolean value of Tensor with more than one value is ambiguous");
            return value.tensor().data().front() != 0;
        case Type::none:
        case Type::unset:
            return false;
        case Type::object:
            if (const auto says = own_answer(value, "__bool__")) return truth(*says);
            if (const auto many = own_answer(value, "__len__")) return truth(*many);
            return true;
        default:
            return true;
    }
}

Number as_decimal(const Value& value) {
    return value.is(Type::decimal) ? value.number() : saturate(Wide{value.number()} << fraction_bits);
}

std::int64_t as_whole(const Value& value, std::string_view what) {
    if (value.is(Type::whole) || value.is(Type::boolean)) return value.number();
    if (value.is(Type::tensor) && value.tensor().count() == 1 && value.tensor().whole())
        return value.tensor().data().front();
    std::string type = type_word(value);
    type = type.substr(1, type.size() - 2);
    if (what.ends_with(" indices"))
        raise("TypeError", fmt::format("{} must be integers or slices, not {}", what, type));
    raise("TypeError", fmt::format("{} must be an integer, not {}", what, type));
}

}  // namespace deadrank::sim::program
