// sim/program/builtins.cpp — Each word finds its function once; lists, dicts, texts, handles and groups have
// their methods here.
#include "sim/program/builtins.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>

#include "scenarios/model/error.h"
#include "scenarios/model/value.h"
#include "scenarios/program/program_words.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

Builtin builtin(int place) {
    static const std::vector<Builtin> table = [] {
        std::vector<BuiltinRow> rows;
        for (const auto& part :
             {python_builtins(), value_builtins(), tensor_builtins(), group_builtins(), mesh_builtins(),
              comm_builtins(), message_builtins(), point_builtins(), object_builtins(), file_builtins(),
              device_builtins(), chance_builtins(), world_builtins(), process_builtins(), store_builtins(),
              told_builtins(), training_builtins(), stream_builtins(), memory_builtins()})
            rows.insert(rows.end(), part.begin(), part.end());
        std::vector<Builtin> calls;
        for (const auto& word : scenarios::program::builtin_words()) {
            const std::string name = word.name();
            const auto found = std::find_if(rows.begin(), rows.end(),
                                            [&](const BuiltinRow& row) { return row.name == name; });
            CHECK(found != rows.end());
            calls.push_back(found->call);
        }
        CHECK(calls.size() == rows.size());
        return calls;
    }();
    return table[static_cast<std::size_t>(place)];
}

std::vector<Value> items_of(const Value& value) {
    std::vector<Value> items;
    switch (value.type()) {
        case Type::list:
            return value.list().items;
        case Type::dict:
            for (const auto& [key, item] : value.dict().items) items.push_back(key);
            return items;
        case Type::text:
            for (const char letter : value.text()) items.push_back(Value::new_text(std::string(1, letter)));
            return items;
        case Type::tensor: {
            const Tensor& tensor = value.tensor();
            if (tensor.shape.empty()) raise("TypeError", "iteration over a 0-d tensor");
            for (std::int64_t row = 0; row < tensor.shape.front(); ++row)
                items.push_back(element_of(value, Value::whole(row)));
            return items;
        }
        case Type::object:
            if (Interpreter* rank = value.instance().rank) return rank->all_of(value);
            [[fallthrough]];
        default:
            raise("TypeError", fmt::format("{} object is not iterable", type_word(value)));
    }
}

const std::string& text_in(const Value& value, std::string_view what) {
    if (!value.is(Type::text))
        raise("TypeError", fmt::format("{} must be str, not {}", what, type_word(value)));
    return value.text();
}

std::shared_ptr<Tensor> tensor_in(const Value& value, std::string_view function, std::string_view parameter) {
    if (value.is(Type::tensor)) return value.shared_tensor();
    raise("TypeError", fmt::format("Invalid function argument. Expected parameter `{}` of {} to be of type "
                                   "torch.Tensor, but got {} instead.",
                                   parameter, function, type_word(value)));
}

Time time_in(const Value& value) {
    if (value.is(Type::text)) {
        const auto parsed = scenarios::parse_value(scenarios::ValueType::duration, value.text());
        if (!parsed)
            raise("ValueError", fmt::format("'{}' is not a time: write \"10ms\" or seconds", value.text()));
        return Time(parsed->number);
    }
    if (!value.is_number()) raise("TypeError", fmt::format("a time cannot be {}", type_word(value)));
    constexpr std::int64_t second = 1'000'000'000, longest = 1'000'000'000;
    const Wide seconds = std::clamp<Wide>(as_decimal(value), 0, Wide{longest} * one);
    return Time(static_cast<std::int64_t>(seconds * second / one));
}

namespace {

[[noreturn]] void no_method(const Value& object, const std::string& name) {
    raise("AttributeError", fmt::format("{} object has no attribute '{}'", type_word(object), name));
}

bool before(const Value& a, const Value& b) { return relate(scenarios::program::Operator::less, a, b); }

// In place; values that are alike stay in their order, also in reverse.
void sort_list(Interpreter& rank, List& list, const std::vector<Value>& arguments) {
    std::vector<std::pair<Value, Value>> items;  // key, value
    for (const Value& item : list.items)
        items.emplace_back(is_stated(arguments, 0) ? rank.call(arguments[0], {item}) : item, item);
    const bool reverse = is_stated(arguments, 1) && truth(arguments[1]);
    std::stable_sort(items.begin(), items.end(), [reverse](const auto& a, const auto& b) {
        return reverse ? before(b.first, a.first) : before(a.first, b.first);
    });
    list.items.clear();
    for (auto& [key, item] : items) list.items.push_back(std::move(item));
}

Value list_method(Interpreter& rank, const Value& object, const std::string& name,
                  const std::vector<Value>& arguments) {
    auto& items = object.list().items;
    if (object.list().fixed && name != "index" && name != "count") no_method(object, name);
    const auto take = [&](const Value& value) {
        if (holds(value, object)) raise("ValueError", "a list cannot hold itself");
        if (items.size() >= (1U << 20)) raise("MemoryError", "a list of more than a million values");
        return value;
    };
    if (name == "append") {
        items.push_back(take(needed(arguments, 0, name)));
    } else if (name == "extend") {
        for (const Value& item : items_of(needed(arguments, 0, name))) items.push_back(take(item));
    } else if (name == "insert") {
        const std::int64_t size = std::ssize(items), asked = as_whole(needed(arguments, 0, name), "a place");
        const std::int64_t at = std::clamp<std::int64_t>(asked < 0 ? asked + size : asked, 0, size);
        items.insert(items.begin() + at, take(needed(arguments, 1, name)));
    } else if (name == "pop") {
        const std::int64_t asked = is_stated(arguments, 0) ? as_whole(arguments[0], "a place") : -1;
        if (items.empty()) raise("IndexError", "pop from empty list");
        const auto at = items.begin() + place_in(asked, std::ssize(items), "pop index out of range");
        const Value value = *at;
        items.erase(at);
        return value;
    } else if (name == "index") {
        for (std::size_t i = 0; i < items.size(); ++i)
            if (equal(items[i], needed(arguments, 0, name)))
                return Value::whole(static_cast<std::int64_t>(i));
        raise("ValueError", fmt::format("{} is not in list", repr(needed(arguments, 0, name))));
    } else if (name == "sort") {
        sort_list(rank, object.list(), arguments);
    } else if (name == "copy") {
        return Value::new_list(items);
    } else if (name == "clear") {
        items.clear();
    } else if (name == "count") {
        return Value::whole(std::count_if(items.begin(), items.end(), [&](const Value& item) {
            return equal(item, needed(arguments, 0, name));
        }));
    } else if (name == "remove") {
        const auto at = std::find_if(items.begin(), items.end(), [&](const Value& item) {
            return equal(item, needed(arguments, 0, name));
        });
        if (at == items.end()) raise("ValueError", "list.remove(x): x not in list");
        items.erase(at);
    } else if (name == "reverse") {
        std::reverse(items.begin(), items.end());
    } else {
        no_method(object, name);
    }
    return Value::none();
}

Value dict_method(const Value& object, const std::string& name, const std::vector<Value>& arguments) {
    Dict& dict = object.dict();
    std::vector<Value> found;
    if (name == "keys" || name == "values" || name == "items") {
        for (const auto& [key, value] : dict.items)
            found.push_back(name == "keys" ? key : name == "values" ? value : Value::new_tuple({key, value}));
        return Value::new_list(std::move(found));
    }
    if (name == "get" || name == "pop") {
        const Value& key = needed(arguments, 0, name);
        const Value* known = dict.find(key);
        if (!known && arguments.size() < 2 && name == "pop") raise("KeyError", repr(key));
        if (!known)
            return arguments.size() > 1 && !arguments[1].is(Type::unset) ? arguments[1] : Value::none();
        const Value value = *known;
        if (name == "pop")
            std::erase_if(dict.items, [&](const auto& item) { return equal(item.first, key); });
        return value;
    }
    if (name == "setdefault") {
        const Value& key = needed(arguments, 0, name);
        if (const Value* known = dict.find(key)) return *known;
        const Value usual = is_stated(arguments, 1) ? arguments[1] : Value::none();
        if (holds(usual, object)) raise("ValueError", "a dict cannot hold itself");
        dict.set(key, usual);
        return usual;
    }
    if (name == "copy") {
        Value made = Value::new_dict();
        made.dict().items = dict.items;
        return made;
    }
    if (name == "clear") return dict.items.clear(), Value::none();
    if (name != "update") no_method(object, name);
    const Value& other = needed(arguments, 0, name);
    if (!other.is(Type::dict)) raise("TypeError", fmt::format("{} object is not a dict", type_word(other)));
    if (holds(other, object) && !other.same_object(object)) raise("ValueError", "a dict cannot hold itself");
    const auto more = other.dict().items;
    for (const auto& [key, value] : more) dict.set(key, value);
    return Value::none();
}

std::string replaced(const std::string& text, const std::string& old, const std::string& by) {
    if (old.empty()) return text;
    std::string out;
    std::size_t from = 0;
    for (std::size_t at = text.find(old); at != std::string::npos; at = text.find(old, from)) {
        out += text.substr(from, at - from) + by;
        from = at + old.size();
    }
    return out + text.substr(from);
}

bool is_blank(char letter) { return letter == ' ' || (letter >= '\t' && letter <= '\r'); }

Value stripped(const std::string& text, const std::string& name, const std::vector<Value>& arguments) {
    const std::string letters = is_stated(arguments, 0) ? text_in(arguments[0], "strip arg") : " \n\t\r\v\f";
    std::size_t first = name == "rstrip" ? 0 : text.find_first_not_of(letters);
    std::size_t last = name == "lstrip" ? text.size() : text.find_last_not_of(letters) + 1;
    first = std::min(first, text.size());
    return Value::new_text(text.substr(first, std::max(first, last) - first));
}

// Without a separator, of what stands between blanks.
Value split(const std::string& text, const std::vector<Value>& arguments) {
    const bool blanks = !is_stated(arguments, 0);
    const std::string by = blanks ? "" : text_in(arguments[0], "an argument");
    if (!blanks && by.empty()) raise("ValueError", "empty separator");
    std::int64_t left = is_stated(arguments, 1) ? as_whole(arguments[1], "maxsplit") : -1;
    std::vector<Value> pieces;
    std::size_t from = 0;
    const auto skip = [&] {
        while (blanks && from < text.size() && is_blank(text[from])) ++from;
    };
    for (skip(); left != 0; --left, skip()) {
        std::size_t at = blanks ? from : text.find(by, from);
        while (blanks && at < text.size() && !is_blank(text[at])) ++at;
        if (at >= text.size()) break;
        pieces.push_back(Value::new_text(text.substr(from, at - from)));
        from = at + by.size();
    }
    if (!blanks || from < text.size()) pieces.push_back(Value::new_text(text.substr(from)));
    return Value::new_list(std::move(pieces));
}

std::string with_zeros(const std::string& text, std::int64_t width) {
    const auto missing = std::clamp<std::int64_t>(width - std::ssize(text), 0, std::int64_t{1} << 20);
    const bool sign = text.starts_with('-') || text.starts_with('+');
    return std::string(text).insert(sign ? 1 : 0, static_cast<std::size_t>(missing), '0');
}

Value text_method(const Value& object, const std::string& name, const std::vector<Value>& arguments) {
    const std::string& text = object.text();
    if (name == "strip" || name == "lstrip" || name == "rstrip") return stripped(text, name, arguments);
    if (name == "split") return split(text, arguments);
    if (name == "zfill")
        return Value::new_text(with_zeros(text, as_whole(needed(arguments, 0, name), "width")));
    if (name == "isdigit")
        return Value::boolean(!text.empty() && text.find_first_not_of("0123456789") == std::string::npos);
    if (name == "join") {
        std::string out;
        bool begun = false;
        for (const Value& item : items_of(needed(arguments, 0, name))) {
            out += (begun ? text : "") + text_in(item, "sequence item");
            begun = true;
        }
        return Value::new_text(std::move(out));
    }
    if (name == "lower" || name == "upper") {
        std::string out = text;
        for (char& letter : out)
            letter = static_cast<char>(name == "lower" ? std::tolower(letter) : std::toupper(letter));
        return Value::new_text(std::move(out));
    }
    const std::string& other = text_in(needed(arguments, 0, name), "an argument");
    if (name == "find") {
        const auto at = text.find(other);
        return Value::whole(at == std::string::npos ? -1 : static_cast<std::int64_t>(at));
    }
    if (name == "startswith") return Value::boolean(text.starts_with(other));
    if (name == "endswith") return Value::boolean(text.ends_with(other));
    if (name == "replace")
        return Value::new_text(replaced(text, other, text_in(needed(arguments, 1, name), "an argument")));
    if (name != "count") no_method(object, name);
    std::int64_t times = other.empty() ? std::ssize(text) + 1 : 0;
    for (std::size_t at = other.empty() ? text.npos : text.find(other); at != text.npos;
         at = text.find(other, at + other.size()))
        ++times;
    return Value::whole(times);
}

}  // namespace

Value method_of(Interpreter& rank, const Value& object, const std::string& name,
                const std::vector<Value>& arguments) {
    rank.spend(0);
    switch (object.type()) {
        case Type::list:
            return list_method(rank, object, name, arguments);
        case Type::dict:
            return dict_method(object, name, arguments);
        case Type::text:
            return text_method(object, name, arguments);
        case Type::handle: {
            Handle& handle = object.handle();
            if (name == "is_completed" && handle.entry) return Value::boolean(rank.is_over(handle));
            if (name == "is_completed") return Value::boolean(!handle.work || handle.work->ready());
            if (name != "wait") no_method(object, name);
            rank.wait(handle);
            return Value::none();
        }
        case Type::object:
            return own_method(rank, object, name, arguments);
        case Type::group: {
            const Group& group = object.group();
            Comm* const own = !group.is_world   ? group.own.get()
                              : name == "abort" ? &rank.host().comm()
                                                : nullptr;
            if (name == "rank" && group.is_world) return Value::whole(rank.host().rank());
            if (name == "size") return Value::whole(std::ssize(object.group().ranks));
            if (name == "rank") return Value::whole(own ? own->rank() : -1);
            if (name == "name") return Value::new_text(object.group().name);
            if (name == "abort") {
                if (own) own->abort();
                return Value::none();
            }
            if (name != "ranks") no_method(object, name);
            std::vector<Value> ranks;
            for (const Rank member : object.group().ranks) ranks.push_back(Value::whole(member));
            return Value::new_list(std::move(ranks));
        }
        case Type::whole:
        case Type::decimal:
        case Type::boolean:  // what torch gives as a tensor without dimensions
            if (name == "item") return object;
            no_method(object, name);
        default:
            no_method(object, name);
    }
}

}  // namespace deadrank::sim::program
