// sim/program/program_number.cpp — Sums and products that do not fit are widened first; nothing wraps round.
#include "sim/program/program_number.h"

namespace deadrank::sim::program {

using scenarios::program::Operator;

namespace {

Wide floored(Wide a, Wide b) {
    const Wide quotient = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

Wide remainder(Wide a, Wide b) { return a - floored(a, b) * b; }

Number quotient(Number a, Number b) {
    if (a >= infinite || a <= -infinite) return a;
    return saturate((Wide{a} << fraction_bits) / b);
}

bool compared(Operator op, Number a, Number b) {
    switch (op) {
        case Operator::equal:
            return a == b;
        case Operator::unequal:
            return a != b;
        case Operator::less:
            return a < b;
        case Operator::less_equal:
            return a <= b;
        case Operator::greater:
            return a > b;
        default:
            return a >= b;
    }
}

Number fits(Wide value) {
    if (value > INT64_MAX || value < INT64_MIN)
        raise("OverflowError", "a whole number that does not fit into 64 bits");
    return static_cast<Number>(value);
}

// Squaring at each bit of the exponent; what leaves the range stays at its end.
Number raised_to(Number base, std::int64_t exponent, bool decimal) {
    Number result = decimal ? one : 1;
    for (; exponent > 0; exponent >>= 1) {
        if (exponent & 1) result = decimal ? times(result, base) : fits(Wide{result} * base);
        if (exponent > 1) base = decimal ? times(base, base) : fits(Wide{base} * base);
    }
    return result;
}

Value power(const Value& a, const Value& b) {
    if (b.is(Type::decimal) && b.number() == one / 2) return Value::decimal(square_root(as_decimal(a)));
    if (b.is(Type::decimal) && b.number() % one != 0)
        raise("ValueError", "only whole exponents and 0.5 are known");
    const std::int64_t exponent = b.is(Type::decimal) ? b.number() / one : b.number();
    const bool decimal = a.is(Type::decimal) || b.is(Type::decimal) || exponent < 0;
    if (!decimal) return Value::whole(raised_to(a.number(), exponent, false));
    const Number found = raised_to(as_decimal(a), exponent < 0 ? -exponent : exponent, true);
    if (exponent < 0 && found == 0) raise("ZeroDivisionError", "0.0 cannot be raised to a negative power");
    return Value::decimal(exponent < 0 ? quotient(one, found) : found);
}

}  // namespace

Number square_root(Number decimal) {
    if (decimal < 0) raise("ValueError", "math domain error");
    if (decimal >= infinite) return infinite;
    const Wide radicand = Wide{decimal} << fraction_bits;
    Wide low = 0, high = Wide{1} << 40;
    while (low < high) {
        const auto middle = (low + high + 1) / 2;
        if (middle * middle <= radicand)
            low = middle;
        else
            high = middle - 1;
    }
    return static_cast<Number>(low);
}

Number elementwise(Operator op, Number a, Number b, bool decimal) {
    switch (op) {
        case Operator::add:
            return plus(a, b);
        case Operator::subtract:
            return saturate(Wide{a} - b);
        case Operator::multiply:
            return decimal ? times(a, b) : saturate(Wide{a} * b);
        case Operator::divide:
            return b == 0 ? (a < 0 ? -infinite : a == 0 ? 0 : infinite) : quotient(a, b);
        case Operator::floor_divide:
            if (b == 0) raise("RuntimeError", "ZeroDivisionError");
            return saturate(floored(a, b) * (decimal ? one : 1));
        case Operator::modulo:
            if (b == 0) raise("RuntimeError", "ZeroDivisionError");
            return static_cast<Number>(remainder(a, b));
        case Operator::power: {
            const Value found = power(decimal ? Value::decimal(a) : Value::whole(a),
                                      decimal ? Value::decimal(b) : Value::whole(b));
            return decimal ? as_decimal(found) : found.number();
        }
        default:
            return compared(op, a, b);
    }
}

Value arithmetic(Operator op, const Value& a, const Value& b) {
    if (op >= Operator::equal) {
        const bool mixed = a.is(Type::decimal) || b.is(Type::decimal);
        return Value::boolean(
            compared(op, mixed ? as_decimal(a) : a.number(), mixed ? as_decimal(b) : b.number()));
    }
    if (op == Operator::power) return power(a, b);
    const bool decimal = a.is(Type::decimal) || b.is(Type::decimal);
    const bool divides = op == Operator::divide || op == Operator::floor_divide || op == Operator::modulo;
    if (divides && b.number() == 0)
        raise("ZeroDivisionError",
              decimal || op == Operator::divide ? "division by zero" : "integer division or modulo by zero");
    if (op == Operator::divide) return Value::decimal(quotient(as_decimal(a), as_decimal(b)));
    if (decimal) return Value::decimal(elementwise(op, as_decimal(a), as_decimal(b), true));
    const Wide x = a.number(), y = b.number();
    switch (op) {
        case Operator::add:
            return Value::whole(fits(x + y));
        case Operator::subtract:
            return Value::whole(fits(x - y));
        case Operator::multiply:
            return Value::whole(fits(x * y));
        case Operator::floor_divide:
            return Value::whole(fits(floored(x, y)));
        default:
            return Value::whole(fits(remainder(x, y)));
    }
}

}  // namespace deadrank::sim::program
