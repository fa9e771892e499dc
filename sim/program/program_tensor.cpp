// sim/program/program_tensor.cpp — Shapes, types and elements. Texts: torch 2.11.
#include "sim/program/program_tensor.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>

#include "sim/program/program_number.h"

namespace deadrank::sim::program {

using scenarios::program::Operator;

std::int64_t Tensor::count() const {
    std::int64_t all = 1;
    for (const std::int64_t size : shape) all *= size;
    return all;
}

Value Tensor::element(std::int64_t at) const {
    if (strided) gather();
    const Number found = (*memory)[first + static_cast<std::size_t>(at)];
    return whole() ? Value::whole(found) : Value::decimal(found);
}

std::shared_ptr<Tensor> Tensor::part(std::int64_t from, Shape of_shape) const {
    if (strided) return part_of_view(*this, from, std::move(of_shape));
    auto view = std::make_shared<Tensor>();
    view->memory = memory;
    view->first = first + static_cast<std::size_t>(from);
    view->shape = std::move(of_shape);
    view->dtype = dtype;
    view->place = place;
    return view;
}

std::shared_ptr<Tensor> new_tensor(Dtype dtype, Shape shape, Place place) {
    std::int64_t count = 1;
    for (const std::int64_t size : shape) {
        if (size < 0)
            raise("RuntimeError", fmt::format("Trying to create tensor with negative dimension {}: {}", size,
                                              shape_text(shape)));
        count = size > most_elements ? most_elements + 1 : std::min(count * size, most_elements + 1);
    }
    if (count > most_elements)
        raise("MemoryError", fmt::format("a tensor of more than {} elements", most_elements));
    auto made = std::make_shared<Tensor>();
    made->memory = std::make_shared<std::vector<Number>>(static_cast<std::size_t>(count), 0);
    made->shape = std::move(shape);
    made->dtype = dtype;
    made->place = place;
    return made;
}

std::string place_text(Place place) { return place < 0 ? "cpu" : fmt::format("cuda:{}", place); }

// A number without dimensions is taken along from the node's memory; torch names a device before the cpu.
Place common_place(const Tensor& a, const Tensor& b, std::string_view where) {
    if (a.place == b.place || b.place == anywhere) return a.place;
    if (a.place == anywhere) return b.place;
    if (a.shape.empty() && a.place == on_host) return b.place;
    if (b.shape.empty() && b.place == on_host) return a.place;
    const bool turned = where.empty() && a.place == on_host;
    raise("RuntimeError",
          fmt::format("Expected all tensors to be on the same device, but found at least two devices, {} and "
                      "{}!{}{}",
                      place_text(turned ? b.place : a.place), place_text(turned ? a.place : b.place),
                      where.empty() ? "" : " ", where));
}

namespace {

struct TypeWord {
    Dtype dtype;
    std::string_view text;
};
constexpr TypeWord type_words[] = {{Dtype::f32, "torch.float32"},      {Dtype::f64, "torch.float64"},
                                   {Dtype::f16, "torch.float16"},      {Dtype::bf16, "torch.bfloat16"},
                                   {Dtype::i64, "torch.int64"},        {Dtype::i32, "torch.int32"},
                                   {Dtype::i8, "torch.int8"},          {Dtype::i8, "torch.bool"},
                                   {Dtype::f32, "torch.float"},        {float8_e4m3fn, "torch.float8_e4m3fn"},
                                   {float8_e5m2, "torch.float8_e5m2"}, {Dtype::f16, "torch.half"},
                                   {Dtype::i64, "torch.long"},         {Dtype::i32, "torch.int"}};

// To so many significant bits, half to even; none of them below the one of this place.
Number rounded(Number value, int bits, int lowest = 0) {
    const bool negative = value < 0;
    std::uint64_t magnitude =
        negative ? -static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    const int width = static_cast<int>(std::bit_width(magnitude));
    if (const int cut = std::max(width - bits, lowest); cut > 0) {
        const std::uint64_t half = std::uint64_t{1} << (cut - 1), rest = magnitude & ((half << 1) - 1);
        magnitude >>= cut;
        if (rest > half || (rest == half && (magnitude & 1))) ++magnitude;
        magnitude <<= cut;
    }
    const auto back = static_cast<Number>(magnitude);
    return negative ? -back : back;
}

constexpr Number largest_half = Number{65504} << fraction_bits;

// As torch's casts: the one has no infinity and is nan beyond 448, the other is inf beyond 57344. Numbers
// near zero have steps of 2^-9 and of 2^-16.
Number fitted_float8(Number value, Dtype dtype) {
    if (value == not_a_number) return value;
    const bool fine = dtype == float8_e4m3fn, beyond = value >= infinite || value <= -infinite;
    const Number largest = Number{fine ? 448 : 57344} << fraction_bits;
    const Number near = beyond ? value : fine ? rounded(value, 4, fraction_bits - 9) : rounded(value, 3);
    if (near >= -largest && near <= largest) return near;
    return fine ? not_a_number : near > 0 ? infinite : -infinite;
}

}  // namespace

Number fitted(Number value, Dtype dtype) {
    if (is_float8(dtype)) return fitted_float8(value, dtype);
    switch (dtype) {
        case Dtype::bf16:
            return value >= infinite || value <= -infinite ? value : rounded(value, 8);
        case Dtype::f16: {
            if (value == not_a_number) return value;
            const Number near = rounded(value, 11);
            return near > largest_half ? infinite : near < -largest_half ? -infinite : near;
        }
        case Dtype::i8:
            return static_cast<std::int8_t>(value);
        case Dtype::i32:
            return static_cast<std::int32_t>(value);
        default:
            return value;
    }
}

std::int64_t element_bytes(Dtype dtype) { return results::size_of(as_moved(dtype)); }

std::string_view float8_text(Dtype dtype) { return dtype == float8_e4m3fn ? "Float8_e4m3fn" : "Float8_e5m2"; }

bool is_whole(Dtype dtype) { return dtype == Dtype::i64 || dtype == Dtype::i32 || dtype == Dtype::i8; }

namespace {

// What an operation of two types gives: decimals win, then the wider one; both halves make float32.
Dtype promoted(Dtype a, Dtype b) {
    if (a == b) return a;
    if (is_whole(a) != is_whole(b)) return is_whole(a) ? b : a;
    if (results::size_of(a) == results::size_of(b)) return Dtype::f32;
    return results::size_of(a) > results::size_of(b) ? a : b;
}

}  // namespace

Dtype dtype_of(const Value& word) {
    if (word.is(Type::function)) {  // the functions of these names stand for their types
        const std::string& name = word.callable().name;
        if (name == "int") return Dtype::i64;
        if (name == "float") return Dtype::f32;
        if (name == "bool") return Dtype::i8;
    }
    if (word.is(Type::text)) {
        for (const TypeWord& known : type_words)
            if (word.text() == known.text || "torch." + word.text() == known.text) return known.dtype;
    }
    raise("TypeError", fmt::format("invalid dtype: {}; known are float32, float64, float16, bfloat16, "
                                   "float8_e4m3fn, float8_e5m2, int64, int32 and int8",
                                   repr(word)));
}

std::string_view dtype_text(Dtype dtype) {
    for (const TypeWord& known : type_words)
        if (known.dtype == dtype) return known.text;
    return "torch.float32";
}

std::string shape_text(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

namespace {

std::string elements_text(const Tensor& tensor) {
    std::string out;
    if (tensor.shape.empty()) return repr(tensor.element(0));
    constexpr std::int64_t most_shown = 64;
    const std::int64_t rows = tensor.shape.front();
    const Shape inner(tensor.shape.begin() + 1, tensor.shape.end());
    const std::int64_t each = rows == 0 ? 0 : tensor.count() / rows;
    for (std::int64_t row = 0; row < rows && row < most_shown; ++row)
        out += (out.empty() ? "" : ", ") + elements_text(*tensor.part(row * each, inner));
    return "[" + out + (rows > most_shown ? ", ...]" : "]");
}

}  // namespace

std::string tensor_text(const Tensor& tensor) {
    const bool usual = tensor.dtype == Dtype::f32 || tensor.dtype == Dtype::i64;
    return fmt::format("tensor({}{}{})", elements_text(tensor),
                       tensor.place < 0 ? "" : fmt::format(", device='{}'", place_text(tensor.place)),
                       usual ? "" : fmt::format(", dtype={}", dtype_text(tensor.dtype)));
}

Shape shape_from(const Value& sizes) {
    const auto& items = sizes.list().items;
    const bool nested = items.size() == 1 && items.front().is(Type::list);
    Shape shape;
    for (const Value& item : nested ? items.front().list().items : items)
        shape.push_back(as_whole(item, "a size"));
    return shape;
}

Number converted(Number element, Dtype from, Dtype to) {
    if (is_whole(from) && !is_whole(to)) element = saturate(Wide{element} << fraction_bits);
    if (!is_whole(from) && is_whole(to)) element = element / one;
    return fitted(element, to);
}

Number element_from(const Value& value, Dtype dtype) {
    if (value.is(Type::tensor) && value.tensor().count() == 1)
        return converted(value.tensor().data().front(), value.tensor().dtype, dtype);
    if (!value.is_number()) raise("TypeError", fmt::format("must be real number, not {}", type_word(value)));
    return converted(value.number(), value.is(Type::decimal) ? Dtype::f32 : Dtype::i64, dtype);
}

namespace {

void collect_shape(const Value& values, Shape& shape, std::size_t dim, bool& decimal) {
    if (values.is(Type::list)) {
        const std::int64_t size = std::ssize(values.list().items);
        if (shape.size() == dim) shape.push_back(size);
        if (dim > 3) raise("ValueError", "more than four dimensions");
        if (shape[dim] != size)
            raise("ValueError",
                  fmt::format("expected sequence of length {} at dim {} (got {})", shape[dim], dim, size));
        for (const Value& item : values.list().items) collect_shape(item, shape, dim + 1, decimal);
        return;
    }
    if (shape.size() != dim) raise("ValueError", "expected sequence, got a number");
    decimal |= values.is(Type::decimal) || (values.is(Type::tensor) && !values.tensor().whole());
}

void collect_elements(const Value& values, Dtype dtype, std::vector<Number>& into) {
    if (!values.is(Type::list)) return into.push_back(element_from(values, dtype));
    for (const Value& item : values.list().items) collect_elements(item, dtype, into);
}

}  // namespace

std::shared_ptr<Tensor> tensor_from(const Value& values, Dtype dtype) {
    if (values.is(Type::tensor))
        return cast(values.tensor(), dtype == Dtype::none ? values.tensor().dtype : dtype);
    Shape shape;
    bool decimal = values.is(Type::list) && values.list().items.empty();
    collect_shape(values, shape, 0, decimal);
    if (dtype == Dtype::none) dtype = decimal ? Dtype::f32 : Dtype::i64;
    auto made = new_tensor(dtype, shape);
    std::vector<Number> elements;
    collect_elements(values, dtype, elements);
    if (std::ssize(elements) != made->count()) raise("ValueError", "expected sequence of equal length");
    std::copy(elements.begin(), elements.end(), made->data().begin());
    return made;
}

std::shared_ptr<Tensor> cast(const Tensor& tensor, Dtype dtype) {
    auto made = new_tensor(dtype, tensor.shape, tensor.place);
    const auto from = tensor.data();
    const auto to = made->data();
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = converted(from[i], tensor.dtype, dtype);
    return made;
}

// Dimensions are matched from the last one; one of size 1 goes with any.
Shape broadcast_shape(const Shape& a, const Shape& b) {
    Shape shape(std::max(a.size(), b.size()), 1);
    for (std::size_t back = 1; back <= shape.size(); ++back) {
        const std::int64_t x = back <= a.size() ? a[a.size() - back] : 1;
        const std::int64_t y = back <= b.size() ? b[b.size() - back] : 1;
        if (x != y && x != 1 && y != 1)
            raise(
                "RuntimeError",
                fmt::format("The size of tensor a ({}) must match the size of tensor b ({}) at non-singleton "
                            "dimension {}",
                            x, y, shape.size() - back));
        shape[shape.size() - back] = x == 1 ? y : x;
    }
    return shape;
}

std::size_t source_of(std::int64_t place, const Shape& shape, const Shape& operand) {
    std::int64_t source = 0, stride = 1;
    for (std::size_t back = 1; back <= shape.size(); ++back) {
        const std::int64_t at = place % shape[shape.size() - back];
        place /= shape[shape.size() - back];
        if (back > operand.size()) break;
        const std::int64_t size = operand[operand.size() - back];
        if (size != 1) source += at * stride;
        stride *= size;
    }
    return static_cast<std::size_t>(source);
}

namespace {

std::shared_ptr<Tensor> as_tensor(const Value& value, Dtype other) {
    if (value.is(Type::tensor))
        return value.tensor().strided ? value.tensor().dense() : value.shared_tensor();
    const bool decimal = value.is(Type::decimal);
    const Dtype dtype = decimal ? (is_whole(other) ? Dtype::f32 : other) : other;
    auto made = new_tensor(dtype, {});
    made->data().front() = element_from(value, dtype);
    return made;
}

std::string_view name_of(Operator op) {
    return op == Operator::multiply   ? "mul"
           : op == Operator::divide   ? "div"
           : op == Operator::matrix   ? "addmm"
           : op == Operator::subtract ? "sub"
           : op == Operator::add      ? "add"
                                      : "elementwise";
}

bool compares(Operator op) { return op >= Operator::equal && op <= Operator::greater_equal; }

}  // namespace

Value calculated(Operator op, const Value& a, const Value& b) {
    for (const Value* one_of : {&a, &b}) {
        if (one_of->is(Type::tensor) || one_of->is_number()) continue;
        if (op >= Operator::less && op <= Operator::greater_equal) refuse_order(op, a, b);
        raise("TypeError", fmt::format("unsupported operand type(s) for {}: {} and {}", sign_of(op),
                                       type_word(a), type_word(b)));
    }
    const auto x = as_tensor(a, b.is(Type::tensor) ? b.tensor().dtype : Dtype::f32);
    const auto y = as_tensor(b, a.is(Type::tensor) ? a.tensor().dtype : Dtype::f32);
    for (const auto* one_of : {&x, &y})
        if (is_float8((*one_of)->dtype))
            raise("RuntimeError", fmt::format("\"{}_cuda\" not implemented for '{}'", name_of(op),
                                              float8_text((*one_of)->dtype)));
    Dtype dtype = promoted(x->dtype, y->dtype);
    if (op > Operator::power && op < Operator::equal && (op == Operator::matrix || !is_whole(dtype)))
        raise("RuntimeError", fmt::format("\"bitwise\" not implemented for '{}'", dtype_text(dtype)));
    const bool decimal = !is_whole(dtype) || op == Operator::divide;
    if (decimal && is_whole(dtype)) dtype = Dtype::f32;
    const Place place = common_place(*x, *y);
    const auto made =
        new_tensor(compares(op) ? Dtype::i8 : dtype, broadcast_shape(x->shape, y->shape), place);
    const auto out = made->data();
    const bool plain = x->shape == y->shape;
    for (std::size_t i = 0; i < out.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        const Number left = x->data()[plain ? i : source_of(at, made->shape, x->shape)];
        const Number right = y->data()[plain ? i : source_of(at, made->shape, y->shape)];
        const Dtype common = decimal ? Dtype::f64 : Dtype::i64;
        out[i] = fitted(
            elementwise(op, converted(left, x->dtype, common), converted(right, y->dtype, common), decimal),
            compares(op) ? Dtype::i64 : dtype);
    }
    // The first operand of the result's shape has the order.
    const bool first = a.is(Type::tensor) && a.tensor().shape == made->shape;
    const Value& leads = first ? a : b;
    return Value::of(leads.is(Type::tensor) ? in_order_of(leads.tensor(), made) : made);
}

void assign(Tensor& into, const Value& value) {
    const auto to = into.data();
    if (!value.is(Type::tensor) && !value.is(Type::list)) {
        std::fill(to.begin(), to.end(), element_from(value, into.dtype));
        return into.flush();
    }
    auto from = value.is(Type::tensor) ? value.shared_tensor() : tensor_from(value, into.dtype);
    if (from->strided) from = from->dense();
    const Shape shape = broadcast_shape(into.shape, from->shape);
    if (shape != into.shape)
        raise("RuntimeError",
              fmt::format("The expanded size of the tensor ({}) must match the existing size ({}) at "
                          "non-singleton dimension 0.  Target sizes: {}.  Tensor sizes: {}",
                          into.shape.empty() ? 1 : into.shape.front(),
                          from->shape.empty() ? 1 : from->shape.front(), shape_text(into.shape),
                          shape_text(from->shape)));
    std::vector<Number> moved(to.size());
    for (std::size_t i = 0; i < to.size(); ++i)
        moved[i] = converted(from->data()[source_of(static_cast<std::int64_t>(i), shape, from->shape)],
                             from->dtype, into.dtype);
    std::copy(moved.begin(), moved.end(), to.begin());
    into.flush();
}

}  // namespace deadrank::sim::program
