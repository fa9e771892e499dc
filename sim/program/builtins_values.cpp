// sim/program/builtins_values.cpp — Functions of any value: conversions, attributes, mathematics, and texts
// with a format.
#include <algorithm>
#include <bit>
#include <fmt/format.h>

#include "sim/program/builtins.h"
#include "sim/program/program_number.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

using scenarios::program::Operator;

namespace {

Value to_dict(Interpreter&, Arguments& given) {
    Value made = Value::new_dict();
    const auto& plain = given[0].list().items;
    if (plain.size() > 1) raise("TypeError", "dict expected at most 1 argument");
    if (!plain.empty() && plain[0].is(Type::dict)) {
        made.dict().items = plain[0].dict().items;
    } else if (!plain.empty()) {
        for (const Value& pair : items_of(plain[0])) {
            const auto both = items_of(pair);
            if (both.size() != 2)
                raise("ValueError", "dictionary update sequence element has another length; 2 is required");
            made.dict().set(both[0], both[1]);
        }
    }
    for (const auto& [key, value] : given[1].dict().items) made.dict().set(key, value);
    return made;
}

Value simple_namespace(Interpreter& rank, Arguments& given) {
    if (!given[0].list().items.empty()) raise("TypeError", "SimpleNamespace() takes named arguments alone");
    auto made = std::make_shared<Instance>();
    made->name = "SimpleNamespace";
    for (const auto& [key, value] : given[1].dict().items) set_field(made->fields, key.text(), value);
    rank.track(made);
    return Value::of(std::move(made));
}

Value get_attribute(Interpreter& rank, Arguments& given) {
    const std::string& name = text_in(given[1], "an attribute's name");
    if (auto found = rank.attribute(given[0], name)) return *found;
    if (!given[2].is(Type::unset)) return given[2];
    raise("AttributeError", fmt::format("{} object has no attribute '{}'", type_word(given[0]), name));
}
Value has_attribute(Interpreter& rank, Arguments& given) {
    return Value::boolean(rank.attribute(given[0], text_in(given[1], "an attribute's name")).has_value());
}
Value put_attribute(Interpreter& rank, Arguments& given) {
    rank.set_attribute(given[0], text_in(given[1], "an attribute's name"), given[2]);
    return Value::none();
}

Value is_callable(Interpreter& rank, Arguments& given) {
    const bool own = given[0].is(Type::object) && rank.attribute(given[0], "__call__").has_value();
    return Value::boolean(own || given[0].is(Type::function) || given[0].is(Type::kind));
}

Value timedelta(Interpreter&, Arguments& given) {
    constexpr std::int64_t milliseconds[] = {86'400'000, 1000, 1, 60'000, 3'600'000};
    Wide sum = 0;
    for (std::size_t i = 0; i < std::size(milliseconds); ++i)
        if (stated(given[i])) sum += Wide{as_decimal(given[i])} * milliseconds[i];
    return Value::decimal(saturate(sum / 1000));
}

Value to_repr(Interpreter&, Arguments& given) { return Value::new_text(repr(given[0])); }

Value each_of(Interpreter& rank, Arguments& given) {
    std::vector<Value> values;
    for (const Value& item : items_of(given[1])) values.push_back(rank.call(given[0], {item}));
    return Value::new_list(std::move(values));
}
Value those_that(Interpreter& rank, Arguments& given) {
    std::vector<Value> values;
    for (const Value& item : items_of(given[1]))
        if (truth(stated(given[0]) ? rank.call(given[0], {item}) : item)) values.push_back(item);
    return Value::new_list(std::move(values));
}

Value reversed(Interpreter&, Arguments& given) {
    std::vector<Value> items = items_of(given[0]);
    std::reverse(items.begin(), items.end());
    return Value::new_list(std::move(items));
}

// Halves go to the even one. With places a decimal stays one.
Value rounded_to(Interpreter&, Arguments& given) {
    const Value& x = given[0];
    if (!x.is_number())
        raise("TypeError", fmt::format("type {} doesn't define __round__ method", type_word(x)));
    if (stated(given[1]) && as_whole(given[1], "ndigits") < 0)
        raise("ValueError", "places before the point are not known here: divide, and multiply again");
    if (!x.is(Type::decimal)) return Value::whole(x.number());
    if (is_special(x.number()) && !stated(given[1]))
        raise("OverflowError", "cannot convert float infinity to integer");
    if (is_special(x.number())) return x;
    std::int64_t scale = 1;
    const std::int64_t places = stated(given[1]) ? as_whole(given[1], "ndigits") : 0;
    for (std::int64_t i = 0; i < std::min<std::int64_t>(places, 6); ++i) scale *= 10;
    const Wide scaled_up = Wide{x.number()} * scale;
    Wide whole = scaled_up >> fraction_bits;
    const Wide rest = scaled_up - (whole << fraction_bits);
    if (rest > one / 2 || (rest == one / 2 && (whole & 1) != 0)) ++whole;
    if (!stated(given[1])) return Value::whole(static_cast<std::int64_t>(whole));
    const Wide back = (whole << (fraction_bits + 1)) / scale;
    return Value::decimal(saturate((back + (back < 0 ? -1 : 1)) / 2));
}

Value decimal_of(const Value& x, std::string_view name, Number (*map)(Number)) {
    if (x.is(Type::tensor)) return method(x, std::string(name == "natural_log" ? "log" : name), {});
    if (!x.is_number()) raise("TypeError", fmt::format("must be real number, not {}", type_word(x)));
    const Number number = as_decimal(x);
    const bool turns = name == "sin" || name == "cos";
    const bool outside = (turns && is_special(number)) || (name == "sqrt" && number < 0) ||
                         (name == "natural_log" && number <= 0);
    if (outside && number != not_a_number) raise("ValueError", "math domain error");
    return Value::decimal(map(number));
}
Value exponential_of(Interpreter&, Arguments& given) { return decimal_of(given[0], "exp", exponential); }
Value square_root_of(Interpreter&, Arguments& given) { return decimal_of(given[0], "sqrt", square_root); }
Value sine_of(Interpreter&, Arguments& given) { return decimal_of(given[0], "sin", sine); }
Value cosine_of(Interpreter&, Arguments& given) { return decimal_of(given[0], "cos", cosine); }
Value logarithm_of(Interpreter&, Arguments& given) { return decimal_of(given[0], "natural_log", logarithm); }

// Of a power of two exactly, as Python has it.
Value logarithm_to_2(Interpreter&, Arguments& given) {
    const Value natural = decimal_of(given[0], "natural_log", logarithm);
    if (natural.is(Type::tensor) || is_special(natural.number())) return natural;
    const auto number = static_cast<std::uint64_t>(as_decimal(given[0]));
    if (std::has_single_bit(number))
        return Value::decimal((Number{std::countr_zero(number)} - fraction_bits) * one);
    constexpr Wide two = 2'977'044'472;  // ln 2, in 2^-32
    return Value::decimal(saturate((Wide{natural.number()} << 32) / two));
}

Value whole_below(Interpreter&, Arguments& given) {
    if (!given[0].is(Type::decimal)) return Value::whole(as_whole(given[0], "a number"));
    if (is_special(given[0].number())) raise("OverflowError", "cannot convert float infinity to integer");
    return Value::whole(given[0].number() >> fraction_bits);
}
Value whole_above(Interpreter& rank, Arguments& given) {
    Arguments below = {operate(Operator::multiply, given[0], Value::whole(-1))};
    return Value::whole(-whole_below(rank, below).number());
}
Value is_nan_of(Interpreter&, Arguments& given) {
    return given[0].is(Type::tensor) ? method(given[0], "isnan", {}) : Value::boolean(is_nan(given[0]));
}

bool is_infinite(const Value& x) { return x.is(Type::decimal) && is_special(x.number()) && !is_nan(x); }
Value is_inf_of(Interpreter&, Arguments& given) {
    return given[0].is(Type::tensor) ? method(given[0], "isinf", {}) : Value::boolean(is_infinite(given[0]));
}
Value is_finite_of(Interpreter&, Arguments& given) {
    if (given[0].is(Type::tensor)) return method(given[0], "isfinite", {});
    return Value::boolean(!is_infinite(given[0]) && !is_nan(given[0]));
}

std::string with_commas(std::string digits) {
    for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
    return digits;
}

// So many digits behind the point, or with an exponent.
std::string decimal_digits(const Value& value, char type, int places) {
    const double number = shown(as_decimal(value));
    if (type == 'e') return fmt::format("{:.{}e}", number, places);
    if (type == 'g') return fmt::format("{:.{}g}", number, places);
    if (type == '%') return fmt::format("{:.{}f}%", number * 100, places);
    return fmt::format("{:.{}f}", number, places);
}

}  // namespace

// [[fill]align][sign][0][width][,][.places][type]
std::string format_text(const Value& value, std::string_view format) {
    char fill = ' ', align = 0;
    const auto aligns = [](char c) { return c == '<' || c == '>' || c == '^'; };
    if (format.size() > 1 && aligns(format[1])) {
        fill = format[0];
        format.remove_prefix(1);
    }
    if (!format.empty() && aligns(format[0])) {
        align = format[0];
        format.remove_prefix(1);
    }
    const auto accept = [&](char c) {
        if (!format.starts_with(c)) return false;
        format.remove_prefix(1);
        return true;
    };
    const auto number = [&] {
        int found = 0;
        for (; !format.empty() && format[0] >= '0' && format[0] <= '9'; format.remove_prefix(1))
            found = std::min(found * 10 + (format[0] - '0'), 200);
        return found;
    };
    const bool sign = accept('+');
    const bool zero = accept('0');
    const int width = number();
    const bool commas = accept(',');
    const int places = accept('.') ? number() : -1;
    const char type = format.empty() ? 0 : format[0];
    const Value x = value.is(Type::tensor) && value.tensor().count() == 1 ? method(value, "item", {}) : value;
    std::string text;
    if (x.is_number() && (places >= 0 || type == 'f' || type == 'e' || type == 'g' || type == '%'))
        text = decimal_digits(x, type, places < 0 ? 6 : places);
    else if (x.is_number() && type == 'x')
        text = fmt::format("{:x}", as_whole(x, "a format"));
    else
        text = shown_text(x);
    if (!x.is_number() && places >= 0)
        text.resize(std::min<std::size_t>(text.size(), static_cast<std::size_t>(places)));
    const bool negative = x.is_number() && text.starts_with('-');
    if (commas) {
        const auto end = std::min(text.find('.'), text.size());
        const auto begin = static_cast<std::size_t>(negative);
        text = text.substr(0, begin) + with_commas(text.substr(begin, end - begin)) + text.substr(end);
    }
    if (sign && x.is_number() && !negative) text.insert(0, 1, '+');
    const auto missing = static_cast<std::size_t>(std::max<std::int64_t>(0, width - std::ssize(text)));
    if (zero && x.is_number() && !align) return text.insert(negative || sign ? 1 : 0, missing, '0');
    if (!align) align = x.is_number() ? '>' : '<';
    const std::size_t before = align == '>' ? missing : align == '^' ? missing / 2 : 0;
    return std::string(before, fill) + text + std::string(missing - before, fill);
}

std::vector<BuiltinRow> value_builtins() {
    return {{"timedelta", timedelta},   {"dict", to_dict},          {"SimpleNamespace", simple_namespace},
            {"getattr", get_attribute}, {"hasattr", has_attribute}, {"setattr", put_attribute},
            {"callable", is_callable},  {"repr", to_repr},          {"map", each_of},
            {"filter", those_that},     {"reversed", reversed},     {"round", rounded_to},
            {"exp", exponential_of},    {"sqrt", square_root_of},   {"natural_log", logarithm_of},
            {"log2", logarithm_to_2},   {"floor", whole_below},     {"ceil", whole_above},
            {"isnan", is_nan_of},       {"isinf", is_inf_of},       {"isfinite", is_finite_of},
            {"sin", sine_of},           {"cos", cosine_of}};
}

}  // namespace deadrank::sim::program
