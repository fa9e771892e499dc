// sim/program/program_pickle.cpp — Values as plain numbers, and back: what a file or a message holds.
#include <fmt/format.h>

#include "sim/program/program_tensor.h"
#include "sim/program/program_value.h"

namespace deadrank::sim::program {

// ── A number for the type, then what belongs to it.

namespace {

// A place stands beside the type; what lies anywhere adds nothing.
constexpr Number places_at = 16;

void encode_at(const Value& value, std::vector<Number>& into, bool places, int depth) {
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
            for (const Value& item : value.list().items) encode_at(item, into, places, depth + 1);
            return;
        case Type::dict:
            into.push_back(std::ssize(value.dict().items));
            for (const auto& [key, item] : value.dict().items) {
                encode_at(key, into, places, depth + 1);
                encode_at(item, into, places, depth + 1);
            }
            return;
        case Type::tensor: {
            const Tensor& tensor = value.tensor();
            into.push_back(static_cast<Number>(tensor.dtype) +
                           (places ? places_at * (tensor.place - anywhere) : 0));
            into.push_back(std::ssize(tensor.shape));
            into.insert(into.end(), tensor.shape.begin(), tensor.shape.end());
            const auto data = tensor.data();
            into.insert(into.end(), data.begin(), data.end());
            return;
        }
        case Type::object:
            into.push_back(value.instance().kind);
            put_text(value.instance().name);
            into.push_back(std::ssize(value.instance().fields));
            for (const auto& [name, item] : value.instance().fields) {
                put_text(name);
                encode_at(item, into, places, depth + 1);
            }
            return;
        case Type::group:
        case Type::handle:
        case Type::kind:
        case Type::function:
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
        if (type <= 0 || type > static_cast<Number>(Type::object)) bad();
        switch (static_cast<Type>(type)) {
            case Type::boolean:
                return Value::boolean(take() != 0);
            case Type::whole:
                return Value::whole(take());
            case Type::decimal:
                return Value::decimal(take());
            case Type::text:
                return Value::new_text(text());
            case Type::object:
                return instance(depth);
            case Type::list: {
                std::vector<Value> items;
                for (std::int64_t left = size(); left > 0; --left) items.push_back(value(depth + 1));
                return Value::new_list(std::move(items));
            }
            case Type::dict: {
                Value made = Value::new_dict();
                for (std::int64_t left = size(); left > 0; --left) {
                    const Value key = value(depth + 1);
                    freeze(key);
                    made.dict().set(key, value(depth + 1));
                }
                return made;
            }
            case Type::tensor:
                return tensor();
            case Type::group:
            case Type::handle:
                bad();
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
    // What is a key was a tuple.
    static void freeze(const Value& key) {
        if (key.is(Type::list)) {
            key.list().fixed = true;
            for (const Value& item : key.list().items) freeze(item);
        } else if (!key.is_number() && !key.is(Type::text) && !key.is(Type::none)) {
            bad();
        }
    }
    std::int64_t size() {
        const Number count = take();
        if (count < 0 || count > std::ssize(from_)) bad();
        return count;
    }
    std::string text() {
        std::string text;
        for (std::int64_t left = size(); left > 0; --left) text += static_cast<char>(take());
        return text;
    }
    Value instance(int depth) {
        auto made = std::make_shared<Instance>();
        const Number kind = take();
        if (kind < mesh_kind || kind > INT16_MAX) bad();
        made->kind = static_cast<int>(kind);
        made->name = text();
        for (std::int64_t left = size(); left > 0; --left) {
            const std::string name = text();
            set_field(made->fields, name, value(depth + 1));
        }
        return Value::of(std::move(made));
    }
    Value tensor() {
        const Number both = take(), dtype = both % places_at, place = both / places_at + anywhere;
        const bool known = dtype <= static_cast<Number>(Dtype::f64) || is_float8(static_cast<Dtype>(dtype));
        if (both < 0 || dtype == 0 || !known || place > INT8_MAX) bad();
        std::vector<std::int64_t> shape;
        std::int64_t count = 1;
        for (std::int64_t left = size(); left > 0; --left) {
            shape.push_back(take());
            if (shape.back() < 0 || shape.back() > std::ssize(from_)) bad();
            count *= shape.back();
            if (count > std::ssize(from_)) bad();
        }
        auto made = new_tensor(static_cast<Dtype>(dtype), std::move(shape), static_cast<Place>(place));
        for (Number& element : made->data()) element = take();
        return Value::of(std::move(made));
    }

    std::span<const Number> from_;
    std::size_t at_ = 0;
};

}  // namespace

void encode_value(const Value& value, std::vector<Number>& into, bool places) {
    encode_at(value, into, places, 0);
}
Value decode_value(std::span<const Number> from) { return Decoder(from).value(); }

}  // namespace deadrank::sim::program
