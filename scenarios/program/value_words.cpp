// scenarios/program/value_words.cpp — Python's functions and torch's, as a program calls them on its own
// values.
#include "scenarios/program/program_words.h"

namespace deadrank::scenarios::program {

namespace {

constexpr BuiltinWord rows_of_values[] = {
    {"Python's", "abs(x)", "as Python's; also of a tensor's elements",
     "`TypeError: bad operand type for abs(): 'list'`"},
    {"Python's", "all(values)", "whether all of them are true"},
    {"Python's", "any(values)", "whether one of them is true"},
    {"Python's", "bool(x)", "whether it is true: not 0, not empty, not None"},
    {"Python's", "callable(x)", "whether it can be called"},
    {"Python's", "ceil(x)", "the next whole number above; `math.ceil`"},
    {"Python's", "cos(x)", "of radians, a number's or a tensor's; math.pi, math.e and math.tau are there too",
     "`ValueError: math domain error`"},
    {"Python's", "dict(**fields)", "dict(a=1), or of a list of pairs, or a copy of a dict"},
    {"Python's", "enumerate(values, start=0)", "a list of [place, value]"},
    {"Python's", "exp(x)", "of a number or of a tensor's elements"},
    {"Python's", "filter(function, values)", "a list of those for which it is true"},
    {"Python's", "float(x)", "a decimal, in steps of 1/65536; float(\"nan\") and float(\"inf\") too",
     "`ValueError: could not convert string to float: 'x'`"},
    {"Python's", "floor(x)", "the next whole number below; `math.floor`"},
    {"Python's", "getattr(object, name, default=None)", "what stands behind a dot, by its name",
     "`AttributeError: 'Tensor' object has no attribute 'x'`"},
    {"Python's", "hasattr(object, name)", "whether it has it"},
    {"Python's", "int(x)", "a whole number, cut toward zero",
     "`ValueError: invalid literal for int() with base 10: 'x'`"},
    {"Python's", "isinstance(x, type)",
     "whether it is an int, float, str, list, dict or bool, a \"tensor\", or of a class; of one of several "
     "in "
     "a list"},
    {"Python's", "isfinite(x)", "of a number, or flags of a tensor"},
    {"Python's", "isinf(x)", "of a number, or flags of a tensor"},
    {"Python's", "isnan(x)", "of a number, or flags of a tensor"},
    {"Python's", "len(x)", "how many there are; of a tensor, its first dimension",
     "`TypeError: object of type 'int' has no len()`"},
    {"Python's", "list(values)", "a list of its own; of a dict, its keys in the order they came in"},
    {"Python's", "map(function, values)", "a list of what it gives for each"},
    {"Python's", "max(*values, key=None, default=None)", "the largest, of arguments or of one list",
     "`ValueError: max() arg is an empty sequence`"},
    {"Python's", "min(*values, key=None, default=None)", "the smallest",
     "`ValueError: min() arg is an empty sequence`"},
    {"Python's", "natural_log(x)", "`math.log`", "`ValueError: math domain error`"},
    {"Python's", "print(*values)", "a line of the rank's log", "", "rank.log"},
    {"Python's", "range(*ends)", "range(end), range(first, end), range(first, end, step): a list",
     "`ValueError: range() arg 3 must not be zero`"},
    {"Python's", "repr(x)", "its text; of a text, with quotes"},
    {"Python's", "reversed(values)", "a list from the end"},
    {"Python's", "round(x, ndigits=None)", "halves go to the even one"},
    {"Python's", "setattr(object, name, value)", "sets what stands behind a dot"},
    {"Python's", "SimpleNamespace(**fields)",
     "an object with these attributes: SimpleNamespace(step=0, lr=0.1)"},
    {"Python's", "sorted(values, key=None, reverse=False)", "a sorted list of numbers or of texts",
     "`TypeError: '<' not supported between instances of 'str' and 'int'`"},
    {"Python's", "sin(x)", "as cos", "`ValueError: math domain error`"},
    {"Python's", "sqrt(x)", "of a number or of a tensor's elements", "`ValueError: math domain error`"},
    {"Python's", "str(x)", "its text"},
    {"Python's", "sum(values, start=0)", "their sum; of a tensor, that of all its elements"},
    {"Python's", "timedelta(days=0, seconds=0, milliseconds=0, minutes=0, hours=0)",
     "so many seconds, for a timeout; `datetime.` may stand before it"},
    {"Python's", "zip(*lists)", "a list of rows, as long as the shortest one"},

    {"Tensors", "tensor(values, dtype=None, device=None)",
     "of a list, of a list of lists that are equally long, or of a number: tensor(0.0) has no dimensions, "
     "dim() "
     "is 0, and item() is its number. Whole numbers become int64, others float32. `device`, here and below: "
     "\"cpu\", \"cuda\" or \"cuda:1\"; see [devices](#devices)",
     "`ValueError: expected sequence of length 2 at dim 1 (got 3)`"},
    {"Tensors", "zeros(*size, dtype=\"float32\", device=None)",
     "zeros(4), zeros(2, 3) or zeros([2, 3]); zeros([]) has no dimensions"},
    {"Tensors", "ones(*size, dtype=\"float32\", device=None)", "as zeros, of ones"},
    {"Tensors", "empty(*size, dtype=\"float32\", device=None)",
     "what the memory held: numbers that are different on each rank and mean nothing"},
    {"Tensors", "full(size, value, dtype=None, device=None)", "of one value"},
    {"Tensors", "arange(*ends, dtype=None, device=None)", "0, 1, 2, … as int64; ends as of range"},
    {"Tensors", "eye(n, device=None)", "ones where row and column are the same"},
    {"Tensors", "zeros_like(tensor, dtype=None, device=None)", "of its shape and type, and where it lies"},
    {"Tensors", "ones_like(tensor, dtype=None, device=None)", "likewise"},
    {"Tensors", "full_like(tensor, value, device=None)", "likewise"},
    {"Tensors", "empty_like(tensor, device=None)", "as empty, likewise"},
    {"Tensors", "cat(tensors, dim=0)", "one behind the other",
     "`RuntimeError: torch.cat(): expected a non-empty list of Tensors`, `RuntimeError: Sizes of tensors "
     "must "
     "match except in dimension 0. Expected size 2 but got size 3 for tensor number 1 in the list.`"},
    {"Tensors", "stack(tensors, dim=0)", "one row each",
     "`RuntimeError: stack expects each tensor to be equal size, but got [2] at entry 0 and [3] at entry 1`"},
    {"Tensors", "where(condition, a, b)", "the elements of a where it is true, else those of b"},
    {"Tensors", "Generator(seed=0)",
     "random numbers that a seed decides, and how many were taken: the same on all ranks with the same seed"},
    {"Tensors", "manual_seed(seed)",
     "begins the rank's own generator anew, from which rand, randn, randint and randperm draw where none is "
     "stated. As torch has it, the generators of all ranks begin alike"},
    {"Tensors", "rand(*size, generator=None, device=None)", "decimals from 0 to 1"},
    {"Tensors", "randn(*size, generator=None, device=None)",
     "decimals of the normal distribution, with mean 0 and deviation 1"},
    {"Tensors", "randint(low, high, size, generator=None, device=None)",
     "whole numbers from low to high - 1: randint(0, 10, (2, 3))",
     "`RuntimeError: random_ expects 'from' to be less than 'to', but got from=3 >= to=3`"},
    {"Tensors", "randperm(n, generator=None, device=None)", "0 to n - 1 in an order of chance"},
    {"Tensors", "device(type, index=None)",
     "a device's name: device(\"cuda\", 1) is \"cuda:1\"; `torch.` may stand before it",
     "`RuntimeError: Expected one of cpu, cuda device type at start of device string: gpu`"},
    {"Tensors", "set_default_device(device)",
     "where tensors lie from now on that are made without a device; of \"cuda\", on the device in use then"},
};

}  // namespace

std::span<const BuiltinWord> value_words() { return rows_of_values; }

}  // namespace deadrank::scenarios::program
