// results/emitters/pickle.cpp — Integers are little-endian; only a float is big-endian. No memo table: it
// would only save space.
#include "results/emitters/pickle.h"

#include <bit>
#include <cstdint>
#include <nlohmann/json.hpp>

namespace deadrank::results::emitters {

namespace {

using Json = nlohmann::ordered_json;

class Writer {
public:
    std::string out{"\x80\x02", 2};

    void value(const Json& json, bool tuple = false) {
        switch (json.type()) {
            case Json::value_t::object:
                return dict(json);
            case Json::value_t::array:
                return tuple && json.size() == 2 ? pair(json) : list(json);
            case Json::value_t::string:
                return text(json.get_ref<const std::string&>());
            case Json::value_t::boolean:
                return op(json.get<bool>() ? '\x88' : '\x89');
            case Json::value_t::number_float:
                return real(json.get<double>());
            case Json::value_t::number_integer:
            case Json::value_t::number_unsigned:
                return number(json.get<std::int64_t>());
            default:
                return op('N');
        }
    }
    void op(char c) { out.push_back(c); }

private:
    void dict(const Json& json) {
        op('}');
        op('(');
        for (const auto& [key, one] : json.items()) {
            text(key);
            value(one, key == "process_group");
        }
        op('u');
    }
    void list(const Json& json) {
        op(']');
        op('(');
        for (const Json& one : json) value(one);
        op('e');
    }
    void pair(const Json& json) {
        value(json[0]);
        value(json[1]);
        op('\x86');
    }
    void text(const std::string& words) {
        op('X');
        little(words.size(), 4);
        out += words;
    }
    void number(std::int64_t value) {
        if (value == static_cast<std::int32_t>(value)) {
            op('J');
            little(static_cast<std::uint64_t>(value), 4);
        } else {
            op('\x8a');
            op(8);
            little(static_cast<std::uint64_t>(value), 8);
        }
    }
    void real(double value) {
        op('G');
        const auto bits = std::bit_cast<std::uint64_t>(value);
        for (int shift = 56; shift >= 0; shift -= 8) op(static_cast<char>(bits >> shift));
    }
    void little(std::uint64_t value, int bytes) {
        for (; bytes > 0; --bytes, value >>= 8) op(static_cast<char>(value));
    }
};

}  // namespace

std::string to_pickle(const Json& tree) {
    Writer writer;
    writer.value(tree);
    writer.op('.');
    return std::move(writer.out);
}

}  // namespace deadrank::results::emitters
