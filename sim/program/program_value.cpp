// sim/program/program_value.cpp — Python's rules for truth, equality and text, and values as plain numbers.
#include "sim/program/program_value.h"

#include <algorithm>
#include <fmt/format.h>

#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

namespace {

constexpr int deepest_value = 16;  // of what is printed, compared or sent

template <class T>
T& as(const std::shared_ptr<Object>& object) {
    return static_cast<T&>(*object);
}

[[noreturn]] void too_deep() { raise("RecursionError", "a list in a list, more than 16 deep"); }

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
        }
    }
}

}  // namespace

void raise(std::string_view kind, std::string_view says) {
    throw RankFailure(says.empty() ? std::string(kind) : fmt::format("{}: {}", kind, says));
}

List::~List() { unwind(items); }
Dict::~Dict() {
    std::vector<Value> pending;
    for (auto& [key, value] : items) pending.push_back(std::move(value));
    unwind(pending);
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
Value Value::new_dict() { return {Type::dict, std::make_shared<Dict>()}; }
Value Value::of(std::shared_ptr<Tensor> tensor) { return {Type::tensor, std::move(tensor)}; }
Value Value::of(std::shared_ptr<Group> group) { return {Type::group, std::move(group)}; }
Value Value::of(std::shared_ptr<Handle> handle) { return {Type::handle, std::move(handle)}; }

const std::string& Value::text() const { return as<Text>(object_).text; }
List& Value::list() const { return as<List>(object_); }
Dict& Value::dict() const { return as<Dict>(object_); }
Tensor& Value::tensor() const { return as<Tensor>(object_); }
std::shared_ptr<Tensor> Value::shared_tensor() const { return std::static_pointer_cast<Tensor>(object_); }
Group& Value::group() const { return as<Group>(object_); }
Handle& Value::handle() const { return as<Handle>(object_); }

std::shared_ptr<Handle> Value::shared_handle() const { return std::static_pointer_cast<Handle>(object_); }

Value* Dict::find(const Value& key) {
    for (auto& [known, value] : items)
        if (equal(known, key)) return &value;
    return nullptr;
}

void Dict::set(const Value& key, Value value) {
    if (!key.is_number() && !key.is(Type::text))
        raise("TypeError", fmt::format("unhashable type: {}", type_word(key)));
    if (Value* known = find(key))
        *known = std::move(value);
    else
        items.emplace_back(key, std::move(value));
}

std::string_view type_word(const Value& value) {
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
            return "'list'";
        case Type::dict:
            return "'dict'";
        case Type::tensor:
            return "'Tensor'";
        case Type::group:
            return "'ProcessGroup'";
        case Type::handle:
            return "'Work'";
        default:
            return "'NoneType'";
    }
}

// Five digits tell all 65536ths apart.
std::string decimal_text(Number value) {
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
        default:
            return "None";
    }
}

bool equal_at(const Value& a, const Value& b, int depth) {
    if (depth > deepest_value) too_deep();
    if (a.is_number() && b.is_number()) {
        if (!a.is(Type::decimal) && !b.is(Type::decimal)) return a.number() == b.number();
        return as_decimal(a) == as_decimal(b);
    }
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
std::string shown_text(const Value& value) { return value.is(Type::text) ? value.text() : repr(value); }
bool equal(const Value& a, const Value& b) { return equal_at(a, b, 0); }
bool holds(const Value& container, const Value& sought) { return holds_at(container, sought, 0); }

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
    std::string_view type = type_word(value);
    type = type.substr(1, type.size() - 2);
    if (what.ends_with(" indices"))
        raise("TypeError", fmt::format("{} must be integers or slices, not {}", what, type));
    raise("TypeError", fmt::format("{} must be an integer, not {}", what, type));
}

// A number for the type, then what belongs to it.

namespace {

void encode_at(const Value& value, std::vector<Number>& into, int depth) {
    if (depth > deepest_value) too_deep();
    into.push_back(static_cast<Number>(value.type()));
    const auto put_text = [&](std::string_view text) {
        into.push_back(std::ssize(text));
        for (const char letter : text) into.push_back(static_cast<unsigned char>(letter));
    };
    switch (value.type()) {
        case Type::boolean:
        case Type::whole:
        case Type::decimal:
            return into.push_back(value.number());
        case Type::text:
            return put_text(value.text());
        case Type::list:
            into.push_back(std::ssize(value.list().items));
            for (const Value& item : value.list().items) encode_at(item, into, depth + 1);
            return;
        case Type::dict:
            into.push_back(std::ssize(value.dict().items));
            for (const auto& [key, item] : value.dict().items) {
                encode_at(key, into, depth + 1);
                encode_at(item, into, depth + 1);
            }
            return;
        case Type::tensor: {
            const Tensor& tensor = value.tensor();
            into.push_back(static_cast<Number>(tensor.dtype));
            into.push_back(std::ssize(tensor.shape));
            into.insert(into.end(), tensor.shape.begin(), tensor.shape.end());
            const auto data = tensor.data();
            into.insert(into.end(), data.begin(), data.end());
            return;
        }
        case Type::group:
        case Type::handle:
            raise("TypeError", fmt::format("cannot pickle {} object", type_word(value)));
        default:
            return;
    }
}

class Decoder {
public:
    explicit Decoder(std::span<const Number> from) : from_(from) {}

    Value value(int depth = 0) {
        if (depth > deepest_value) bad();
        const Number type = take();
        if (type <= 0 || type > static_cast<Number>(Type::tensor)) bad();
        switch (static_cast<Type>(type)) {
            case Type::boolean:
                return Value::boolean(take() != 0);
            case Type::whole:
                return Value::whole(take());
            case Type::decimal:
                return Value::decimal(take());
            case Type::text: {
                std::string text;
                for (std::int64_t left = size(); left > 0; --left) text += static_cast<char>(take());
                return Value::new_text(std::move(text));
            }
            case Type::list: {
                std::vector<Value> items;
                for (std::int64_t left = size(); left > 0; --left) items.push_back(value(depth + 1));
                return Value::new_list(std::move(items));
            }
            case Type::dict: {
                Value made = Value::new_dict();
                for (std::int64_t left = size(); left > 0; --left) {
                    const Value key = value(depth + 1);
                    if (!key.is_number() && !key.is(Type::text)) bad();
                    made.dict().set(key, value(depth + 1));
                }
                return made;
            }
            case Type::tensor:
                return tensor();
            default:
                return Value::none();
        }
    }

private:
    [[noreturn]] static void bad() {
        raise("RuntimeError",
              "PytorchStreamReader failed reading zip archive: failed finding central directory");
    }
    Number take() {
        if (at_ >= from_.size()) bad();
        return from_[at_++];
    }
    std::int64_t size() {
        const Number count = take();
        if (count < 0 || count > std::ssize(from_)) bad();
        return count;
    }
    Value tensor() {
        const Number dtype = take();
        if (dtype <= 0 || dtype > static_cast<Number>(Dtype::f64)) bad();
        std::vector<std::int64_t> shape;
        std::int64_t count = 1;
        for (std::int64_t left = size(); left > 0; --left) {
            shape.push_back(take());
            if (shape.back() < 0 || shape.back() > std::ssize(from_)) bad();
            count *= shape.back();
            if (count > std::ssize(from_)) bad();
        }
        auto made = new_tensor(static_cast<Dtype>(dtype), std::move(shape));
        for (Number& element : made->data()) element = take();
        return Value::of(std::move(made));
    }

    std::span<const Number> from_;
    std::size_t at_ = 0;
};

}  // namespace

void encode_value(const Value& value, std::vector<Number>& into) { encode_at(value, into, 0); }
Value decode_value(std::span<const Number> from) { return Decoder(from).value(); }

}  // namespace deadrank::sim::program
