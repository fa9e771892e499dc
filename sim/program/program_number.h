// sim/program/program_number.h — Arithmetic of Python's numbers: whole ones stay whole, / gives a decimal, //
// and % follow the sign of the divisor.
#pragma once

#include "scenarios/program/program_tree.h"
#include "sim/program/program_value.h"

namespace deadrank::sim::program {

// Two elements of one kind; comparisons give 0 or 1. Division of decimals by zero gives inf or
// nan, as torch has it.
Number elementwise(scenarios::program::Operator op, Number a, Number b, bool decimal);

// Two numbers; raises ZeroDivisionError, and OverflowError where 64 bits are not enough.
Value arithmetic(scenarios::program::Operator op, const Value& a, const Value& b);

// Of decimals. Below 0 the first gives nan, the second too; the logarithm of 0 is -inf.
Number square_root(Number decimal);
Number logarithm(Number decimal);
Number exponential(Number decimal);
Number sine(Number decimal);  // of radians
Number cosine(Number decimal);

// How far apart two decimals may be and still count as the same: sums in another order differ by the last of
// their 16 fractional bits.
constexpr Number rounding = 8;

constexpr bool is_special(Number decimal) { return decimal >= infinite || decimal <= -infinite; }
Number plus_any(Number a, Number b);  // also of what is not finite

// ~x: of a whole number or a boolean's tensor.
Value flipped(const Value& value);

}  // namespace deadrank::sim::program
