// sim/program/tensor_math.cpp — What is done to each element, products of matrices, and changes in place.
#include <algorithm>
#include <fmt/format.h>

#include "sim/program/interpreter.h"
#include "sim/program/program_number.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

using scenarios::program::Operator;

const Value& needed(const TensorArguments& given, std::size_t place, std::string_view name) {
    if (place >= given.size() || given[place].is(Type::unset))
        raise("TypeError", fmt::format("{}() lacks an argument", name));
    return given[place];
}

bool is_stated(const TensorArguments& given, std::size_t place) {
    return place < given.size() && !given[place].is(Type::unset) && !given[place].is(Type::none);
}

void fit(Tensor& tensor) {
    if (tensor.dtype == Dtype::f32 || tensor.dtype == Dtype::f64 || tensor.dtype == Dtype::i64) return;
    for (Number& element : tensor.data()) element = fitted(element, tensor.dtype);
}

void take_data(Tensor& into, const Value& from) {
    if (!from.is(Type::tensor))
        raise("TypeError", fmt::format("Variable data has to be a tensor, but got {}", type_word(from)));
    const Tensor& other = from.tensor();
    if (is_whole(other.dtype) != is_whole(into.dtype))
        raise("RuntimeError", "Attempted to set the storage of a tensor to a tensor of an incompatible type");
    into.memory = other.memory;
    into.first = other.first;
    into.strided = other.strided;
    into.shape = other.shape;
    into.dtype = other.dtype;
    into.place = other.place;
}

namespace {

using Map = Number (*)(Number);

// As decimals; whole numbers become float32 first.
Value mapped(const Value& object, Map map) {
    const Tensor& tensor = object.tensor();
    const auto made = cast(tensor, tensor.whole() ? Dtype::f32 : tensor.dtype);
    for (Number& element : made->data()) element = fitted(map(element), made->dtype);
    return Value::of(made);
}

// Flags, one for each element.
Value flagged(const Value& object, bool (*is_so)(Number)) {
    const Tensor& tensor = object.tensor();
    const auto made = new_tensor(Dtype::i8, tensor.shape, tensor.place);
    for (std::size_t i = 0; i < made->data().size(); ++i)
        made->data()[i] = !tensor.whole() && is_so(tensor.data()[i]);
    return Value::of(made);
}

template <Map map>
Value each(const Value& object, const TensorArguments&) {
    return mapped(object, map);
}

Number sigmoid_of(Number x) {
    return elementwise(Operator::divide, one, plus_any(one, exponential(x == not_a_number ? x : -x)), true);
}
Number tanh_of(Number x) {
    if (is_special(x)) return x == not_a_number ? x : x > 0 ? one : -one;
    return one - elementwise(Operator::divide, 2 * one, plus_any(exponential(2 * x), one), true);
}
Number product(Number a, Number b) { return elementwise(Operator::multiply, a, b, true); }
Number silu_of(Number x) { return x == -infinite ? 0 : product(x, sigmoid_of(x)); }

// Abramowitz and Stegun's 7.1.26, which is exact to less than a step of 1/65536; of no less than 0.
Number error_function(Number x) {
    constexpr Number p = 21'469, last = 4 * one;  // beyond it all is 1
    if (x >= last) return one;
    constexpr Number factors[] = {69'560, -95'234, 93'154, -18'645, 16'701};
    const Number t = elementwise(Operator::divide, one, one + product(p, x), true);
    Number sum = 0;
    for (const Number factor : factors) sum = product(sum, t) + factor;
    return one - product(product(sum, t), exponential(-product(x, x)));
}
// x times the normal distribution's share below x.
Number gelu_of(Number x) {
    constexpr Number root_of_half = 46'341;
    if (is_special(x)) return x == -infinite ? 0 : x;
    const Number half = error_function(product(x < 0 ? -x : x, root_of_half)) / 2;
    return product(x, one / 2 + (x < 0 ? -half : half));
}
Number floor_of(Number x) { return is_special(x) ? x : x >> fraction_bits << fraction_bits; }
Number round_of(Number x) {
    if (is_special(x)) return x;
    const Number down = floor_of(x), rest = x - down;
    const bool up = rest > one / 2 || (rest == one / 2 && (down & one) != 0);
    return up ? down + one : down;
}
Number relu_of(Number x) { return x == not_a_number || x > 0 ? x : 0; }

Value absolute(const Value& object, const TensorArguments&) {
    const auto made = cast(object.tensor(), object.tensor().dtype);
    for (Number& element : made->data())
        element = element < 0 && element != not_a_number ? -element : element;
    return Value::of(made);
}

Value negative(const Value& object, const TensorArguments&) {
    return calculated(Operator::multiply, object, Value::whole(-1));
}

Value isnan(const Value& object, const TensorArguments&) {
    return flagged(object, [](Number x) { return x == not_a_number; });
}
Value isinf(const Value& object, const TensorArguments&) {
    return flagged(object, [](Number x) { return x != not_a_number && is_special(x); });
}
Value isfinite(const Value& object, const TensorArguments& given) {
    const Value special = flagged(object, is_special);
    (void)given;
    return flipped(special);
}

void limit(Tensor& tensor, const TensorArguments& given) {
    if (!is_stated(given, 0) && !is_stated(given, 1))
        raise("RuntimeError", "torch.clamp: At least one of 'min' or 'max' must not be None");
    for (Number& element : tensor.data()) {
        if (element == not_a_number) continue;
        if (is_stated(given, 0)) element = std::max(element, element_from(given[0], tensor.dtype));
        if (is_stated(given, 1)) element = std::min(element, element_from(given[1], tensor.dtype));
    }
}

Value clamp(const Value& object, const TensorArguments& given) {
    const auto made = cast(object.tensor(), object.tensor().dtype);
    limit(*made, given);
    return Value::of(made);
}
Value clamp_in_place(const Value& object, const TensorArguments& given) {
    limit(object.tensor(), given);
    return object;
}

// Without the quotes: torch names types so.
std::string bare_type_word(const Value& value) {
    const std::string word = type_word(value);
    return word.substr(1, word.size() - 2);
}

// Changes in place; the other one may be stretched to the tensor's shape, but not the tensor.
template <Operator op>
Value changed(const Value& object, const TensorArguments& given) {
    Value other = needed(given, 0, "an operation in place");
    if (is_stated(given, 1)) other = operate(Operator::multiply, given[1], other);  // alpha
    const Value result = calculated(op, object, other);
    Tensor& tensor = object.tensor();
    if (result.tensor().shape != tensor.shape)
        raise("RuntimeError", fmt::format("output with shape {} doesn't match the broadcast shape {}",
                                          shape_text(tensor.shape), shape_text(result.tensor().shape)));
    if (tensor.whole() && !result.tensor().whole())
        raise("RuntimeError", fmt::format("result type {} can't be cast to the desired output type {}",
                                          result.tensor().dtype == Dtype::f64 ? "Double" : "Float",
                                          tensor.dtype == Dtype::i64 ? "Long" : "Int"));
    assign(tensor, result);
    return object;
}

Value copy_in_place(const Value& object, const TensorArguments& given) {
    const Value& other = needed(given, 0, "copy_");
    if (!other.is(Type::tensor))
        raise("TypeError", fmt::format("copy_(): argument 'other' (position 1) must be Tensor, not {}",
                                       bare_type_word(other)));
    assign(object.tensor(), other);
    return object;
}
Value fill_in_place(const Value& object, const TensorArguments& given) {
    const Value& value = needed(given, 0, "fill_");
    if (!value.is(Type::tensor) && !value.is_number())
        raise("TypeError", fmt::format("fill_(): argument 'value' (position 1) must be Number, not {}",
                                       bare_type_word(value)));
    assign(object.tensor(), value);
    return object;
}
Value zero_in_place(const Value& object, const TensorArguments&) {
    assign(object.tensor(), Value::whole(0));
    return object;
}

template <Dtype dtype>
Value as_type(const Value& object, const TensorArguments&) {
    return Value::of(cast(object.tensor(), dtype));
}
Value clone(const Value& object, const TensorArguments&) {
    return Value::of(cast(object.tensor(), object.tensor().dtype));
}
Value sharing(const Value& object, const TensorArguments&) {
    return Value::of(object.tensor().part(0, object.tensor().shape));
}
Value dtype_word(const Value& object, const TensorArguments&) {
    return Value::new_text(std::string(dtype_text(object.tensor().dtype)));
}

Value matmul(const Value& object, const TensorArguments& given) {
    const Value& other = needed(given, 0, "matmul");
    if (!other.is(Type::tensor))
        raise("TypeError",
              fmt::format("matmul(): argument 'other' must be Tensor, not {}", type_word(other)));
    return multiplied(object.tensor(), other.tensor());
}

Value masked_fill(const Value& object, const TensorArguments& given) {
    return chosen(needed(given, 0, "masked_fill"), needed(given, 1, "masked_fill"), object);
}

Value allclose(const Value& object, const TensorArguments& given) {
    const Value apart = calculated(Operator::subtract, object, needed(given, 0, "allclose"));
    const Number bound = is_stated(given, 1) ? element_from(given[1], Dtype::f32) : rounding;
    const auto data = cast(apart.tensor(), Dtype::f32);
    return Value::boolean(std::all_of(data->data().begin(), data->data().end(), [&](Number x) {
        return x != not_a_number && x <= bound && x >= -bound;
    }));
}

Value equals(const Value& object, const TensorArguments& given) {
    return Value::boolean(equal(object, needed(given, 0, "equal")));
}

}  // namespace

// One-dimensional operands are a row before, and a column behind.
Value multiplied(const Tensor& a, const Tensor& b) {
    if (a.strided) return multiplied(*a.dense(), b);
    if (b.strided) return multiplied(a, *b.dense());
    if (a.shape.empty() || b.shape.empty())
        raise("RuntimeError", "both arguments to matmul need to be at least 1D, but they are 0D");
    if (a.shape.size() > 2 || b.shape.size() > 2)
        raise("RuntimeError", "products of more than two dimensions are not known here: loop over the first");
    const Place place =
        common_place(a, b, "(when checking argument for argument mat2 in method wrapper_CUDA_mm)");
    if (a.dtype != b.dtype)
        raise("RuntimeError", fmt::format("expected m1 and m2 to have the same dtype, but got: {} != {}",
                                          dtype_text(a.dtype), dtype_text(b.dtype)));
    const bool row = a.shape.size() == 1, column = b.shape.size() == 1;
    const std::int64_t n = row ? 1 : a.shape[0], k = a.shape.back();
    const std::int64_t m = column ? 1 : b.shape[1];
    if (k != b.shape[0])
        raise(
            "RuntimeError",
            row && column
                ? fmt::format("inconsistent tensor size, expected tensor [{}] and src [{}] to have the same "
                              "number of elements, but got {} and {} elements respectively",
                              k, b.shape[0], k, b.shape[0])
            : column
                ? fmt::format("size mismatch, got input ({}), mat ({}x{}), vec ({})", n, n, k, b.shape[0])
                : fmt::format("mat1 and mat2 shapes cannot be multiplied ({}x{} and {}x{})", n, k, b.shape[0],
                              m));
    Shape shape;
    if (!row) shape.push_back(n);
    if (!column) shape.push_back(m);
    const auto made = new_tensor(a.dtype, shape, place);
    const bool decimal = !a.whole();
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < m; ++j) {
            Number sum = 0;
            for (std::int64_t at = 0; at < k; ++at) {
                const Number x = a.data()[static_cast<std::size_t>(i * k + at)];
                const Number y = b.data()[static_cast<std::size_t>(at * m + j)];
                const Number product = elementwise(Operator::multiply, x, y, decimal);
                sum = decimal ? plus_any(sum, product) : plus(sum, product);
            }
            made->data()[static_cast<std::size_t>(i * m + j)] = fitted(sum, a.dtype);
        }
    }
    return Value::of(made);
}

Value chosen(const Value& condition, const Value& a, const Value& b) {
    if (!condition.is(Type::tensor))
        raise("TypeError",
              fmt::format("where(): argument 'condition' must be Tensor, not {}", type_word(condition)));
    const auto as_tensor = [](const Value& value, const Value& other) {
        if (value.is(Type::tensor))
            return value.tensor().strided ? value.tensor().dense() : value.shared_tensor();
        const Dtype like = other.is(Type::tensor) ? other.tensor().dtype : Dtype::f32;
        return tensor_from(value, is_whole(like) && value.is(Type::decimal) ? Dtype::f32 : like);
    };
    const auto x = as_tensor(a, b), y = as_tensor(b, a);
    const Tensor& flags = condition.tensor();
    const Shape shape = broadcast_shape(flags.shape, broadcast_shape(x->shape, y->shape));
    const Place both = common_place(*x, *y);
    const Place with_flags = common_place(flags, both == x->place ? *x : *y);
    const auto made = new_tensor(x->dtype, shape, both == anywhere ? with_flags : both);
    for (std::int64_t i = 0; i < made->count(); ++i) {
        const bool first = flags.data()[source_of(i, shape, flags.shape)] != 0;
        const Tensor& from = first ? *x : *y;
        made->data()[static_cast<std::size_t>(i)] =
            converted(from.data()[source_of(i, shape, from.shape)], from.dtype, made->dtype);
    }
    return Value::of(made);
}

std::vector<TensorMethod> element_methods() {
    return {{"exp", each<exponential>},
            {"log", each<logarithm>},
            {"sin", each<sine>},
            {"cos", each<cosine>},
            {"sqrt", each<square_root>},
            {"sigmoid", each<sigmoid_of>},
            {"tanh", each<tanh_of>},
            {"relu", each<relu_of>},
            {"silu", each<silu_of>},
            {"gelu", each<gelu_of>},
            {"floor", each<floor_of>},
            {"round", each<round_of>},
            {"abs", absolute},
            {"neg", negative},
            {"isnan", isnan},
            {"isinf", isinf},
            {"isfinite", isfinite},
            {"clamp", clamp},
            {"clamp_", clamp_in_place},
            {"add_", changed<Operator::add>},
            {"sub_", changed<Operator::subtract>},
            {"mul_", changed<Operator::multiply>},
            {"div_", changed<Operator::divide>},
            {"copy_", copy_in_place},
            {"fill_", fill_in_place},
            {"zero_", zero_in_place},
            {"float", as_type<Dtype::f32>},
            {"double", as_type<Dtype::f64>},
            {"half", as_type<Dtype::f16>},
            {"bfloat16", as_type<Dtype::bf16>},
            {"long", as_type<Dtype::i64>},
            {"int", as_type<Dtype::i32>},
            {"clone", clone},
            {"detach", sharing},
            {"data", sharing},
            {"dtype", dtype_word},
            {"matmul", matmul},
            {"mm", matmul},
            {"dot", matmul},
            {"masked_fill", masked_fill},
            {"allclose", allclose},
            {"equal", equals}};
}

}  // namespace deadrank::sim::program
