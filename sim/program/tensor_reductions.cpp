// sim/program/tensor_reductions.cpp — Many elements into one, over all of a tensor or along one dimension;
// what is put in order; and the table of all methods.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <numeric>

#include "sim/program/program_number.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

using scenarios::program::Operator;

namespace {

using Numbers = std::vector<Number>;
using Reduction = Number (*)(const Numbers& elements, bool decimal);  // of those in one row

Number total(const Numbers& elements, bool decimal) {
    Number sum = 0;
    for (const Number element : elements) sum = decimal ? plus_any(sum, element) : plus(sum, element);
    return sum;
}

Number product_of(const Numbers& elements, bool decimal) {
    Number result = decimal ? one : 1;
    for (const Number element : elements) result = elementwise(Operator::multiply, result, element, decimal);
    return result;
}

Number average(const Numbers& elements, bool) {
    if (elements.empty()) return not_a_number;
    const Number sum = total(elements, true);
    return is_special(sum) ? sum : sum / std::ssize(elements);
}

std::size_t extreme_place(const Numbers& elements, bool largest, bool decimal) {
    std::size_t best = 0;
    for (std::size_t i = 0; i < elements.size(); ++i) {
        if (decimal && elements[i] == not_a_number) return i;
        if (largest ? elements[i] > elements[best] : elements[i] < elements[best]) best = i;
    }
    return best;
}

Number largest_of(const Numbers& elements, bool decimal) {
    return elements[extreme_place(elements, true, decimal)];
}
Number smallest_of(const Numbers& elements, bool decimal) {
    return elements[extreme_place(elements, false, decimal)];
}
Number any_of_them(const Numbers& elements, bool) {
    return std::any_of(elements.begin(), elements.end(), [](Number x) { return x != 0; });
}
Number all_of_them(const Numbers& elements, bool) {
    return std::all_of(elements.begin(), elements.end(), [](Number x) { return x != 0; });
}
Number place_of_largest(const Numbers& elements, bool decimal) {
    return static_cast<Number>(extreme_place(elements, true, decimal));
}
Number place_of_smallest(const Numbers& elements, bool decimal) {
    return static_cast<Number>(extreme_place(elements, false, decimal));
}

Number variance(const Numbers& elements, bool) {
    if (elements.size() < 2) return not_a_number;
    const Number mean = average(elements, true);
    Numbers squares;
    for (const Number element : elements) {
        const Number apart = elementwise(Operator::subtract, element, mean, true);
        squares.push_back(elementwise(Operator::multiply, apart, apart, true));
    }
    const Number sum = total(squares, true);
    return is_special(sum) ? sum : sum / (std::ssize(elements) - 1);
}
Number deviation(const Numbers& elements, bool decimal) { return square_root(variance(elements, decimal)); }

Number length_of(const Numbers& elements, bool) {
    Numbers squares;
    for (const Number element : elements)
        squares.push_back(elementwise(Operator::multiply, element, element, true));
    return square_root(total(squares, true));
}

Number distance_of(const Numbers& elements, bool) {
    Numbers sizes;
    for (const Number element : elements)
        sizes.push_back(element < 0 && element != not_a_number ? -element : element);
    return total(sizes, true);
}

Number farthest_of(const Numbers& elements, bool) {
    Number most = 0;
    for (const Number element : elements) {
        if (element == not_a_number) return element;
        most = std::max(most, element < 0 ? -element : element);
    }
    return most;
}

struct Kind {
    Reduction reduce;
    enum class Gives { same, whole, flag, decimal } gives = Gives::same;
    bool empty = true;  // whether no element at all has a result
};

std::shared_ptr<Tensor> prepared(const Tensor& tensor, const Kind& kind, std::string_view name) {
    if (kind.gives != Kind::Gives::decimal || !tensor.whole()) return tensor.part(0, tensor.shape);
    if (name == "mean" || name == "std" || name == "var")
        raise("RuntimeError", fmt::format("{}(): could not infer output dtype. Input dtype must be either a "
                                          "floating point or complex dtype. Got: Long",
                                          name));
    raise("RuntimeError",
          "linalg.vector_norm: Expected a floating point or complex tensor as input. Got Long");
}

Dtype result_type(const Tensor& tensor, const Kind& kind) {
    if (kind.gives == Kind::Gives::whole) return Dtype::i64;
    if (kind.gives == Kind::Gives::flag) return Dtype::i8;
    const bool small = tensor.dtype == Dtype::i8 || tensor.dtype == Dtype::i32;
    return small ? Dtype::i64 : tensor.dtype;
}

Numbers row_of(const Tensor& tensor, const Blocks& blocks, std::int64_t outer, std::int64_t inner) {
    Numbers row;
    for (std::int64_t at = 0; at < blocks.size; ++at)
        row.push_back(
            tensor.data()[static_cast<std::size_t>((outer * blocks.size + at) * blocks.inner + inner)]);
    return row;
}

// Without a dimension a number; with one a tensor without that dimension, or with 1 where `keepdim` says so.
Value reduced(const Value& object, const TensorArguments& given, std::size_t first, const Kind& kind,
              std::string_view name) {
    const auto tensor = prepared(object.tensor(), kind, name);
    const Dtype dtype = result_type(*tensor, kind);
    if (!kind.empty && tensor->count() == 0)
        raise("RuntimeError",
              fmt::format("{}(): Expected reduction dim to be specified for input.numel() == 0. "
                          "Specify the reduction dim with the 'dim' argument.",
                          name));
    if (!is_stated(given, first)) {
        const auto data = tensor->data();
        const Number found = kind.reduce(Numbers(data.begin(), data.end()), !tensor->whole());
        return is_whole(dtype) ? Value::whole(found) : Value::decimal(fitted(found, dtype));
    }
    if (given[first].is(Type::boolean))
        raise("TypeError", fmt::format("{}(): argument 'dim' must be int, not bool", name));
    const std::size_t dim = dimension(as_whole(given[first], "dim"), tensor->shape.size());
    const Blocks blocks = blocks_of(tensor->shape, dim);
    Shape shape = tensor->shape;
    if (dim < shape.size()) shape[dim] = 1;
    const bool keeps = is_stated(given, first + 1) && truth(given[first + 1]);
    if (!keeps && dim < shape.size()) shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(dim));
    const auto made = new_tensor(dtype, shape, tensor->place);
    for (std::int64_t i = 0; i < made->count(); ++i)
        made->data()[static_cast<std::size_t>(i)] =
            fitted(kind.reduce(row_of(*tensor, blocks, i / blocks.inner, i % blocks.inner), !tensor->whole()),
                   dtype);
    return Value::of(made);
}

template <Reduction reduce, Kind::Gives gives, bool empty>
Value over(const Value& object, const TensorArguments& given, std::string_view name) {
    return reduced(object, given, 0, Kind{reduce, gives, empty}, name);
}

// Along a dimension torch gives the values and their places; beside another tensor, the larger of each two.
Value extreme(const Value& object, const TensorArguments& given, bool largest) {
    const std::string_view name = largest ? "max" : "min";
    const Kind values{largest ? largest_of : smallest_of, Kind::Gives::same, false};
    if (is_stated(given, 0) && given[0].is(Type::tensor)) {
        const Value more = calculated(largest ? Operator::greater : Operator::less, object, given[0]);
        return chosen(more, object, given[0]);
    }
    const Value found = reduced(object, given, 0, values, name);
    if (!is_stated(given, 0)) return found;
    const Kind places{largest ? place_of_largest : place_of_smallest, Kind::Gives::whole, false};
    return Value::new_list({found, reduced(object, given, 0, places, name)});
}

Value sum(const Value& object, const TensorArguments& given) {
    return over<total, Kind::Gives::same, true>(object, given, "sum");
}
Value prod(const Value& object, const TensorArguments& given) {
    return over<product_of, Kind::Gives::same, true>(object, given, "prod");
}
Value mean(const Value& object, const TensorArguments& given) {
    return over<average, Kind::Gives::decimal, true>(object, given, "mean");
}
Value var(const Value& object, const TensorArguments& given) {
    return over<variance, Kind::Gives::decimal, true>(object, given, "var");
}
Value std_of(const Value& object, const TensorArguments& given) {
    return over<deviation, Kind::Gives::decimal, true>(object, given, "std");
}
Value any(const Value& object, const TensorArguments& given) {
    return over<any_of_them, Kind::Gives::flag, true>(object, given, "any");
}
Value all(const Value& object, const TensorArguments& given) {
    return over<all_of_them, Kind::Gives::flag, true>(object, given, "all");
}
Value argmax(const Value& object, const TensorArguments& given) {
    return over<place_of_largest, Kind::Gives::whole, false>(object, given, "argmax");
}
Value argmin(const Value& object, const TensorArguments& given) {
    return over<place_of_smallest, Kind::Gives::whole, false>(object, given, "argmin");
}
Value max(const Value& object, const TensorArguments& given) { return extreme(object, given, true); }
Value min(const Value& object, const TensorArguments& given) { return extreme(object, given, false); }

Value norm(const Value& object, const TensorArguments& given) {
    Reduction by = length_of;
    if (is_stated(given, 0)) {
        const Number p = as_decimal(given[0]);
        if (p != one && p != 2 * one && p != infinite)
            raise("ValueError", "norms other than 1, 2 and inf are not known here");
        by = p == one ? distance_of : p == infinite ? farthest_of : length_of;
    }
    return reduced(object, given, 1, {by, Kind::Gives::decimal, true}, "norm");
}

// A new tensor, each of whose rows along the dimension comes of one of the old ones.
template <class Change>
std::shared_ptr<Tensor> by_row(const Tensor& tensor, std::int64_t stated_dim, Dtype dtype, Change change) {
    const std::size_t dim = dimension(stated_dim, tensor.shape.size());
    const Blocks blocks = blocks_of(tensor.shape, dim);
    const auto made = new_tensor(dtype, tensor.shape, tensor.place);
    for (std::int64_t i = 0; i < blocks.outer * blocks.inner; ++i) {
        const std::int64_t outer = i / blocks.inner, inner = i % blocks.inner;
        const Numbers row = change(row_of(tensor, blocks, outer, inner));
        for (std::int64_t at = 0; at < blocks.size; ++at)
            made->data()[static_cast<std::size_t>((outer * blocks.size + at) * blocks.inner + inner)] =
                fitted(row[static_cast<std::size_t>(at)], dtype);
    }
    return made;
}

Value softmax(const Value& object, const TensorArguments& given) {
    const auto tensor = cast(object.tensor(), object.tensor().whole() ? Dtype::f32 : object.tensor().dtype);
    return Value::of(
        by_row(*tensor, is_stated(given, 0) ? as_whole(given[0], "dim") : -1, tensor->dtype, [](Numbers row) {
            const Number most = largest_of(row, true);
            for (Number& x : row) x = exponential(elementwise(Operator::subtract, x, most, true));
            const Number sum = total(row, true);
            for (Number& x : row) x = elementwise(Operator::divide, x, sum, true);
            return row;
        }));
}

Value log_softmax(const Value& object, const TensorArguments& given) {
    const auto tensor = cast(object.tensor(), object.tensor().whole() ? Dtype::f32 : object.tensor().dtype);
    return Value::of(
        by_row(*tensor, is_stated(given, 0) ? as_whole(given[0], "dim") : -1, tensor->dtype, [](Numbers row) {
            const Number most = largest_of(row, true);
            Numbers powers;
            for (const Number x : row)
                powers.push_back(exponential(elementwise(Operator::subtract, x, most, true)));
            const Number bottom = plus_any(most, logarithm(total(powers, true)));
            for (Number& x : row) x = elementwise(Operator::subtract, x, bottom, true);
            return row;
        }));
}

Value cumsum(const Value& object, const TensorArguments& given) {
    const Tensor& tensor = object.tensor();
    const bool decimal = !tensor.whole();
    return Value::of(by_row(tensor, is_stated(given, 0) ? as_whole(given[0], "dim") : 0,
                            decimal ? tensor.dtype : Dtype::i64, [decimal](Numbers row) {
                                for (std::size_t i = 1; i < row.size(); ++i)
                                    row[i] =
                                        decimal ? plus_any(row[i], row[i - 1]) : plus(row[i], row[i - 1]);
                                return row;
                            }));
}

Numbers order_of(const Numbers& row, bool descending) {
    Numbers places(row.size());
    std::iota(places.begin(), places.end(), 0);
    std::stable_sort(places.begin(), places.end(), [&](Number a, Number b) {
        const Number x = row[static_cast<std::size_t>(a)], y = row[static_cast<std::size_t>(b)];
        return descending ? x > y : x < y;
    });
    return places;
}

Value argsort(const Value& object, const TensorArguments& given) {
    const bool descending = is_stated(given, 1) && truth(given[1]);
    return Value::of(by_row(object.tensor(), is_stated(given, 0) ? as_whole(given[0], "dim") : -1, Dtype::i64,
                            [&](const Numbers& row) { return order_of(row, descending); }));
}

Value sort(const Value& object, const TensorArguments& given) {
    const bool descending = is_stated(given, 1) && truth(given[1]);
    const auto values = by_row(object.tensor(), is_stated(given, 0) ? as_whole(given[0], "dim") : -1,
                               object.tensor().dtype, [&](const Numbers& row) {
                                   Numbers found;
                                   for (const Number place : order_of(row, descending))
                                       found.push_back(row[static_cast<std::size_t>(place)]);
                                   return found;
                               });
    return Value::new_list({Value::of(values), argsort(object, given)});
}

Value listed(const Tensor& tensor) {
    if (tensor.shape.empty()) return tensor.element(0);
    std::vector<Value> items;
    const std::int64_t rows = tensor.shape.front();
    const std::int64_t row = rows == 0 ? 0 : tensor.count() / rows;
    for (std::int64_t i = 0; i < rows; ++i) {
        const Shape inner(tensor.shape.begin() + 1, tensor.shape.end());
        items.push_back(inner.empty() ? tensor.element(i) : listed(*tensor.part(i * row, inner)));
    }
    return Value::new_list(std::move(items));
}

Value tolist(const Value& object, const TensorArguments&) { return listed(object.tensor()); }

Value item(const Value& object, const TensorArguments&) {
    const Tensor& tensor = object.tensor();
    if (tensor.count() != 1)
        raise("RuntimeError",
              fmt::format("a Tensor with {} elements cannot be converted to Scalar", tensor.count()));
    return tensor.element(0);
}

}  // namespace

std::vector<TensorMethod> reduction_methods() {
    return {{"sum", sum},         {"prod", prod},
            {"mean", mean},       {"var", var},
            {"std", std_of},      {"any", any},
            {"all", all},         {"argmax", argmax},
            {"argmin", argmin},   {"max", max},
            {"min", min},         {"norm", norm},
            {"softmax", softmax}, {"log_softmax", log_softmax},
            {"cumsum", cumsum},   {"argsort", argsort},
            {"sort", sort},       {"tolist", tolist},
            {"item", item}};
}

namespace {

constexpr std::string_view words_of_views[] = {"shape",     "size",   "numel",  "ndim",          "dim",
                                               "transpose", "t",      "T",      "permute",       "narrow",
                                               "chunk",     "split",  "expand", "is_contiguous", "stride",
                                               "view",      "detach", "data",   "contiguous",    "dtype"};

// What gives an element for each one, in their order in memory.
constexpr std::string_view words_of_elements[] = {
    "exp",   "log",   "sin",   "cos",  "sqrt",     "sigmoid", "tanh",     "relu", "silu",       "gelu",
    "floor", "round", "abs",   "neg",  "isnan",    "isinf",   "isfinite", "pow",  "maximum",    "minimum",
    "clamp", "clone", "float", "half", "bfloat16", "double",  "long",     "int",  "masked_fill"};

bool is_among(std::span<const std::string_view> words, std::string_view name) {
    return std::find(words.begin(), words.end(), name) != words.end();
}

}  // namespace

Value method(const Value& object, const std::string& name, const std::vector<Value>& arguments) {
    static const auto table = [] {
        std::map<std::string_view, Value (*)(const Value&, const TensorArguments&)> calls;
        for (const auto& part :
             {shape_methods(), element_methods(), reduction_methods(), place_methods(), view_methods()})
            for (const TensorMethod& one_of : part) calls.emplace(one_of.name, one_of.call);
        return calls;
    }();
    const auto found = table.find(name);
    if (found == table.end())
        raise("AttributeError", fmt::format("'Tensor' object has no attribute '{}'", name));
    if (!object.tensor().strided || is_among(words_of_views, name)) return found->second(object, arguments);
    // All else is done with its elements in a row, and what changed them goes back to where they lie.
    const Value dense = Value::of(object.tensor().dense());
    const Value answer = found->second(dense, arguments);
    if (is_among(words_of_elements, name) && answer.is(Type::tensor))
        return Value::of(in_order_of(object.tensor(), answer.shared_tensor()));
    if (!name.ends_with('_')) return answer;
    *object.tensor().memory = *dense.tensor().memory;
    object.tensor().flush();
    return object;
}

}  // namespace deadrank::sim::program
