// sim/program/program_number.cpp — Sums and products that do not fit are widened first; nothing wraps round.
#include "sim/program/program_number.h"

#include <fmt/format.h>

#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

using scenarios::program::Operator;

namespace {

Wide floored(Wide a, Wide b) {
    const Wide quotient = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

Wide remainder(Wide a, Wide b) { return a - floored(a, b) * b; }

Number quotient(Number a, Number b) { return saturate((Wide{a} << fraction_bits) / b); }

Number signed_infinity(bool negative) { return negative ? -infinite : infinite; }

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

// One of the two is inf, -inf or nan. Comparisons with nan are false, but for !=.
Number with_special(Operator op, Number a, Number b) {
    const bool nan = a == not_a_number || b == not_a_number;
    if (op >= Operator::equal) return nan ? op == Operator::unequal : compared(op, a, b);
    if (nan) return not_a_number;
    const bool both = is_special(a) && is_special(b), negative = (a < 0) != (b < 0);
    switch (op) {
        case Operator::add:
            return both && negative ? not_a_number : is_special(a) ? a : b;
        case Operator::subtract:
            return both && !negative ? not_a_number : is_special(a) ? a : -b;
        case Operator::multiply:
            return a == 0 || b == 0 ? not_a_number : signed_infinity(negative);
        case Operator::divide:
            return both ? not_a_number : is_special(a) ? signed_infinity(negative) : 0;
        default:
            return not_a_number;
    }
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

Number fraction_power(Number base, Number exponent) {
    if (exponent == one / 2) return square_root(base);
    if (base == 0) return exponent < 0 ? infinite : 0;
    if (base < 0) return not_a_number;
    return exponential(elementwise(Operator::multiply, logarithm(base), exponent, true));
}

Value power(const Value& a, const Value& b) {
    const bool special =
        (a.is(Type::decimal) && is_special(a.number())) || (b.is(Type::decimal) && is_special(b.number()));
    if (special || (b.is(Type::decimal) && b.number() % one != 0)) {
        if (b.number() == 0) return Value::decimal(one);
        if (a.is(Type::decimal) && is_special(a.number()) && a.number() < 0 && !is_nan(a))
            return Value::decimal(not_a_number);
        return Value::decimal(fraction_power(as_decimal(a), as_decimal(b)));
    }
    const std::int64_t exponent = b.is(Type::decimal) ? b.number() / one : b.number();
    const bool decimal = a.is(Type::decimal) || b.is(Type::decimal) || exponent < 0;
    if (!decimal) return Value::whole(raised_to(a.number(), exponent, false));
    const Number found = raised_to(as_decimal(a), exponent < 0 ? -exponent : exponent, true);
    if (exponent < 0 && found == 0) raise("ZeroDivisionError", "0.0 cannot be raised to a negative power");
    return Value::decimal(exponent < 0 ? elementwise(Operator::divide, one, found, true) : found);
}

// Numbers with 40 fractional bits, in which the series below are summed.
constexpr int fine_bits = 40;
constexpr Wide fine_one = Wide{1} << fine_bits;
constexpr Wide fine_ln2 = 762'123'384'786;

}  // namespace

// e^x = 2^k · e^r, with r between 0 and ln 2.
Number exponential(Number decimal) {
    if (decimal == not_a_number) return decimal;
    if (is_special(decimal)) return decimal > 0 ? infinite : 0;
    constexpr Number largest = 40 * one;
    if (decimal > largest) return infinite;
    if (decimal < -largest) return 0;
    const Wide x = Wide{decimal} << (fine_bits - fraction_bits);
    const Wide k = floored(x, fine_ln2), r = x - k * fine_ln2;
    Wide term = fine_one, sum = fine_one;
    for (int n = 1; n <= 20; ++n) {
        term = ((term * r) >> fine_bits) / n;
        sum += term;
    }
    const int shift = fine_bits - fraction_bits - static_cast<int>(k);
    if (shift <= 0) return saturate(sum << -shift);
    return saturate((sum + (Wide{1} << (shift - 1))) >> shift);
}

// x = m · 2^e; ln m = 2 · artanh((m - 1) / (m + 1)).
Number logarithm(Number decimal) {
    if (decimal == not_a_number || decimal < 0) return not_a_number;
    if (decimal == 0) return -infinite;
    if (decimal >= infinite) return infinite;
    int exponent = 0;
    Wide m = Wide{decimal} << (fine_bits - fraction_bits);
    for (; m >= 2 * fine_one; m >>= 1) ++exponent;
    for (; m < fine_one; m <<= 1) --exponent;
    const Wide z = ((m - fine_one) << fine_bits) / (m + fine_one), square = (z * z) >> fine_bits;
    Wide power = z, sum = 0;
    for (int n = 1; n < 40; n += 2) {
        sum += power / n;
        power = (power * square) >> fine_bits;
    }
    const Wide value = 2 * sum + exponent * fine_ln2;
    constexpr int cut = fine_bits - fraction_bits;
    return saturate((value + (Wide{1} << (cut - 1))) >> cut);
}

namespace {

constexpr Wide fine_quarter = 1'727'108'826'179;  // half of pi

// The sine of x + quarters · pi/2, with x brought between 0 and pi/2.
Number wave(Number decimal, int quarters) {
    if (is_special(decimal)) return not_a_number;
    Wide x = Wide{decimal} << (fine_bits - fraction_bits);
    const Wide turns = floored(x, fine_quarter);
    x -= turns * fine_quarter;
    const int quarter = static_cast<int>(remainder(turns, 4) + quarters) % 4;
    if (quarter % 2 != 0) x = fine_quarter - x;
    const Wide square = (x * x) >> fine_bits;
    Wide term = x, sum = x;
    for (int n = 2; n < 20; n += 2) {
        term = -((term * square) >> fine_bits) / (n * (n + 1));
        sum += term;
    }
    constexpr int cut = fine_bits - fraction_bits;
    const Number rounded = saturate((sum + (Wide{1} << (cut - 1))) >> cut);
    return quarter < 2 ? rounded : -rounded;
}

}  // namespace

Number sine(Number decimal) { return wave(decimal, 0); }
Number cosine(Number decimal) { return wave(decimal, 1); }

Number plus_any(Number a, Number b) {
    return is_special(a) || is_special(b) ? with_special(Operator::add, a, b) : plus(a, b);
}

Value flipped(const Value& value) {
    if (value.is(Type::whole) || value.is(Type::boolean)) return Value::whole(~value.number());
    if (!value.is(Type::tensor) || value.tensor().dtype != Dtype::i8)
        raise("TypeError", "~ takes a whole number, or a tensor that a comparison gave");
    return calculated(Operator::equal, value, Value::whole(0));
}

Number square_root(Number decimal) {
    if (decimal == not_a_number || decimal < 0) return not_a_number;
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
    if (decimal && op != Operator::power && (is_special(a) || is_special(b))) return with_special(op, a, b);
    switch (op) {
        case Operator::add:
            return plus(a, b);
        case Operator::subtract:
            return saturate(Wide{a} - b);
        case Operator::multiply:
            return decimal ? times(a, b) : saturate(Wide{a} * b);
        case Operator::divide:
            return b != 0 ? quotient(a, b) : a == 0 ? not_a_number : signed_infinity(a < 0);
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
        case Operator::bit_and:
            return a & b;
        case Operator::bit_or:
            return a | b;
        case Operator::bit_xor:
            return a ^ b;
        case Operator::shift_left:
            return b < 0 || b > 62 ? 0 : saturate(Wide{a} << b);
        case Operator::shift_right:
            return b < 0 || b > 62 ? (a < 0 ? -1 : 0) : a >> b;
        default:
            return compared(op, a, b);
    }
}

namespace {

// Two booleans stay booleans.
Value bits(Operator op, const Value& a, const Value& b) {
    static constexpr std::string_view signs[] = {"@", "<<", ">>", "&", "|", "^"};
    if (op == Operator::matrix || a.is(Type::decimal) || b.is(Type::decimal))
        raise("TypeError",
              fmt::format("unsupported operand type(s) for {}: {} and {}",
                          signs[static_cast<std::size_t>(op) - static_cast<std::size_t>(Operator::matrix)],
                          type_word(a), type_word(b)));
    const bool shifts = op == Operator::shift_left || op == Operator::shift_right;
    if (shifts && b.number() < 0) raise("ValueError", "negative shift count");
    if (op == Operator::shift_left && b.number() <= 62)
        return Value::whole(fits(Wide{a.number()} << b.number()));
    if (op == Operator::shift_left && a.number() != 0)
        raise("OverflowError", "a whole number that does not fit into 64 bits");
    const Number found = elementwise(op, a.number(), b.number(), false);
    const bool booleans = a.is(Type::boolean) && b.is(Type::boolean) && !shifts;
    return booleans ? Value::boolean(found != 0) : Value::whole(found);
}

}  // namespace

Value arithmetic(Operator op, const Value& a, const Value& b) {
    if (op >= Operator::equal) {
        const bool mixed = a.is(Type::decimal) || b.is(Type::decimal);
        if (!mixed) return Value::boolean(compared(op, a.number(), b.number()));
        return Value::boolean(elementwise(op, as_decimal(a), as_decimal(b), true) != 0);
    }
    if (op == Operator::power) return power(a, b);
    if (op > Operator::power) return bits(op, a, b);
    const bool decimal = a.is(Type::decimal) || b.is(Type::decimal);
    const bool divides = op == Operator::divide || op == Operator::floor_divide || op == Operator::modulo;
    if (divides && b.number() == 0)
        raise("ZeroDivisionError",
              decimal || op == Operator::divide ? "division by zero" : "integer division or modulo by zero");
    if (op == Operator::divide)
        return Value::decimal(elementwise(Operator::divide, as_decimal(a), as_decimal(b), true));
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
