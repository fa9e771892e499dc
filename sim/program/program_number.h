// sim/program/program_number.h — Arithmetic of Python's numbers: whole ones stay whole, / gives a decimal, //
// and % follow the sign of the divisor.
#pragma once

#include "scenarios/program/program_tree.h"
#include "sim/program/program_value.h"

namespace deadrank::sim::program {

// Two elements of one kind; comparisons give 0 or 1. Division of decimals by zero gives inf, as torch has it.
Number elementwise(scenarios::program::Operator op, Number a, Number b, bool decimal);

// Two numbers; raises ZeroDivisionError, and OverflowError where 64 bits are not enough.
Value arithmetic(scenarios::program::Operator op, const Value& a, const Value& b);

Number square_root(Number decimal);

}  // namespace deadrank::sim::program
