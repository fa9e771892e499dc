// sim/program/tensor_shapes.cpp — Joined, cut and reshaped tensors, and their methods. Parts are views, as
// torch's are: what is written into one is written into the whole.
#include <algorithm>
#include <fmt/format.h>

#include "sim/program/program_number.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

namespace {

const Tensor& as_part(const Value& value) {
    if (!value.is(Type::tensor))
        raise("TypeError",
              fmt::format("expected Tensor as element 0 in argument 0, but got {}", type_word(value)));
    return value.tensor();
}

std::size_t dimension(std::int64_t dim, std::size_t dimensions) {
    const std::int64_t most = std::max<std::int64_t>(static_cast<std::int64_t>(dimensions), 1);
    if (dim < -most || dim >= most)
        raise("IndexError",
              fmt::format("Dimension out of range (expected to be in range of [{}, {}], but got {})", -most,
                          most - 1, dim));
    return static_cast<std::size_t>(dim < 0 ? dim + most : dim);
}

void check_cat(const Tensor& first, const Tensor& other, std::size_t dim, std::size_t number) {
    if (first.shape.size() != other.shape.size())
        raise("RuntimeError", fmt::format("Tensors must have same number of dimensions: got {} and {}",
                                          first.shape.size(), other.shape.size()));
    for (std::size_t i = 0; i < first.shape.size(); ++i) {
        if (i == dim || first.shape[i] == other.shape[i]) continue;
        raise("RuntimeError",
              fmt::format(
                  "Sizes of tensors must match except in dimension {}. Expected size {} but got size {} "
                  "for tensor number {} in the list.",
                  dim, first.shape[i], other.shape[i], number));
    }
}

std::int64_t product(Shape::const_iterator from, Shape::const_iterator to) {
    std::int64_t all = 1;
    for (; from != to; ++from) all *= *from;
    return all;
}

}  // namespace

Value joined(const std::vector<Value>& tensors, std::int64_t dim) {
    if (tensors.empty()) raise("RuntimeError", "torch.cat(): expected a non-empty list of Tensors");
    const Tensor& first = as_part(tensors.front());
    if (first.shape.empty())
        raise("RuntimeError", "zero-dimensional tensor (at position 0) cannot be concatenated");
    const std::size_t along = dimension(dim, first.shape.size());
    Shape shape = first.shape;
    shape[along] = 0;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        check_cat(first, as_part(tensors[i]), along, i);
        shape[along] += tensors[i].tensor().shape[along];
    }
    const auto made = new_tensor(first.dtype, shape);
    const auto cut = static_cast<std::ptrdiff_t>(along);
    const std::int64_t outer = product(shape.begin(), shape.begin() + cut);
    const std::int64_t row = product(shape.begin() + cut, shape.end());
    std::int64_t offset = 0;
    for (const Value& value : tensors) {
        const Tensor& part = value.tensor();
        const std::int64_t width = product(part.shape.begin() + cut, part.shape.end());
        for (std::int64_t i = 0; i < outer * width; ++i)
            made->data()[static_cast<std::size_t>(i / width * row + offset + i % width)] =
                converted(part.data()[static_cast<std::size_t>(i)], part.dtype, first.dtype);
        offset += width;
    }
    return Value::of(made);
}

Value stacked(const std::vector<Value>& tensors) {
    if (tensors.empty()) raise("RuntimeError", "stack expects a non-empty TensorList");
    const Shape& each = as_part(tensors.front()).shape;
    std::vector<Value> rows;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const Tensor& one_of = as_part(tensors[i]);
        if (one_of.shape != each)
            raise("RuntimeError",
                  fmt::format(
                      "stack expects each tensor to be equal size, but got {} at entry 0 and {} at entry {}",
                      shape_text(each), shape_text(one_of.shape), i));
        Shape row = each;
        row.insert(row.begin(), 1);
        rows.push_back(Value::of(one_of.part(0, row)));
    }
    return joined(rows, 0);
}

std::shared_ptr<Tensor> reshaped(const Tensor& tensor, Shape shape) {
    const Shape asked = shape;
    const auto open = std::find(shape.begin(), shape.end(), -1);
    std::int64_t known = 1;
    for (const std::int64_t size : shape)
        known = size < -1 || size > most_elements ? 0 : known * (size < 0 ? 1 : size);
    if (open != shape.end() && known > 0 && tensor.count() % known == 0) *open = tensor.count() / known;
    std::int64_t all = 1;
    for (const std::int64_t size : shape) all = size < 0 || all > most_elements ? -1 : all * size;
    if (all != tensor.count())
        raise("RuntimeError",
              fmt::format("shape '{}' is invalid for input of size {}", shape_text(asked), tensor.count()));
    return tensor.part(0, std::move(shape));
}

std::vector<Value> parts(const Tensor& tensor, const Shape& sizes) {
    if (tensor.shape.empty()) raise("RuntimeError", "split expects at least a 1-dimensional tensor");
    std::int64_t sum = 0;
    for (const std::int64_t size : sizes) {
        if (size < 0)
            raise("RuntimeError", "split_with_sizes expects split_sizes have only non-negative entries");
        sum += size;
    }
    const std::int64_t rows = tensor.shape.front();
    if (sum != rows)
        raise("RuntimeError",
              fmt::format("split_with_sizes expects split_sizes to sum exactly to {} (input tensor's size at "
                          "dimension 0), but got split_sizes={}",
                          rows, shape_text(sizes)));
    const std::int64_t row = rows == 0 ? 0 : tensor.count() / rows;
    std::vector<Value> cut;
    std::int64_t at = 0;
    for (const std::int64_t size : sizes) {
        Shape shape = tensor.shape;
        shape.front() = size;
        cut.push_back(Value::of(tensor.part(at * row, std::move(shape))));
        at += size;
    }
    return cut;
}

namespace {

// Pieces of one size, and a last one that is smaller.
Shape pieces(std::int64_t rows, std::int64_t size) {
    Shape sizes;
    for (std::int64_t left = rows; left > 0; left -= size) sizes.push_back(std::min(left, size));
    if (sizes.empty()) sizes.push_back(0);
    return sizes;
}

}  // namespace

std::vector<Value> chunks(const Tensor& tensor, std::int64_t count) {
    if (count < 1)
        raise("RuntimeError", fmt::format("chunk expects `chunks` to be greater than 0, got: {}", count));
    const std::int64_t rows = tensor.shape.empty() ? 1 : tensor.shape.front();
    return parts(tensor, pieces(rows, std::max<std::int64_t>((rows + count - 1) / count, 1)));
}

namespace {

Value summed(const Tensor& tensor) {
    Number sum = 0;
    for (const Number element : tensor.data()) sum = plus(sum, element);
    return tensor.whole() ? Value::whole(sum) : Value::decimal(sum);
}

Value extreme(const Tensor& tensor, bool largest) {
    const auto data = tensor.data();
    if (data.empty())
        raise("RuntimeError",
              fmt::format("{}(): Expected reduction dim to be specified for input.numel() == 0. "
                          "Specify the reduction dim with the 'dim' argument.",
                          largest ? "max" : "min"));
    const auto found =
        largest ? std::max_element(data.begin(), data.end()) : std::min_element(data.begin(), data.end());
    return tensor.whole() ? Value::whole(*found) : Value::decimal(*found);
}

Value norm_of(const Tensor& tensor) {
    if (tensor.whole())
        raise("RuntimeError",
              "linalg.vector_norm: Expected a floating point or complex tensor as input. Got Long");
    Number squares = 0;
    for (const Number element : tensor.data()) squares = plus(squares, times(element, element));
    return Value::decimal(square_root(squares));
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

Value sizes_of(const Tensor& tensor) {
    std::vector<Value> sizes;
    for (const std::int64_t size : tensor.shape) sizes.push_back(Value::whole(size));
    return Value::new_list(std::move(sizes));
}

Value cut_by(const Tensor& tensor, const Value& sizes) {
    if (sizes.is(Type::list)) {
        Shape wanted;
        for (const Value& size : sizes.list().items) wanted.push_back(as_whole(size, "a split size"));
        return Value::new_list(parts(tensor, wanted));
    }
    const std::int64_t size = as_whole(sizes, "split_size");
    if (size < 1)
        raise("RuntimeError",
              fmt::format("split expects split_size be non-negative, but got split_size={}", size));
    return Value::new_list(parts(tensor, pieces(tensor.shape.empty() ? 1 : tensor.shape.front(), size)));
}

}  // namespace

Value method(const Value& object, const std::string& name, const std::vector<Value>& arguments) {
    Tensor& tensor = object.tensor();
    const auto argument = [&](std::size_t i) -> const Value& {
        if (i >= arguments.size()) raise("TypeError", fmt::format("{}() lacks an argument", name));
        return arguments[i];
    };
    if (name == "shape") return sizes_of(tensor);
    if (name == "dtype") return Value::new_text(std::string(dtype_text(tensor.dtype)));
    if (name == "ndim") return Value::whole(std::ssize(tensor.shape));
    if (name == "numel") return Value::whole(tensor.count());
    if (name == "size" && arguments.empty()) return sizes_of(tensor);
    if (name == "size" && tensor.shape.empty())
        raise("IndexError", "Dimension specified as 0 but tensor has no dimensions");
    if (name == "size")
        return Value::whole(tensor.shape[dimension(as_whole(arguments[0], "dim"), tensor.shape.size())]);
    if (name == "reshape" || name == "view")
        return Value::of(reshaped(tensor, shape_from(Value::new_list(arguments))));
    if (name == "flatten") return Value::of(reshaped(tensor, {tensor.count()}));
    if (name == "chunk") return Value::new_list(chunks(tensor, as_whole(argument(0), "chunks")));
    if (name == "split") return cut_by(tensor, argument(0));
    if (name == "sum") return summed(tensor);
    if (name == "mean")
        return tensor.count() == 0 ? Value::decimal(0)
                                   : arithmetic(scenarios::program::Operator::divide, summed(tensor),
                                                Value::whole(tensor.count()));
    if (name == "max" || name == "min") return extreme(tensor, name == "max");
    if (name == "norm") return norm_of(tensor);
    if (name == "tolist") return listed(tensor);
    if (name == "clone") return Value::of(cast(tensor, tensor.dtype));
    if (name == "to") return Value::of(cast(tensor, dtype_of(argument(0))));
    if (name == "item") {
        if (tensor.count() != 1)
            raise("RuntimeError",
                  fmt::format("a Tensor with {} elements cannot be converted to Scalar", tensor.count()));
        return tensor.element(0);
    }
    if (name == "copy_" || name == "fill_")
        assign(tensor, argument(0));
    else if (name == "zero_")
        assign(tensor, Value::whole(0));
    else
        raise("AttributeError", fmt::format("'Tensor' object has no attribute '{}'", name));
    return object;
}

std::int64_t place_in(std::int64_t index, std::int64_t size, std::string_view error) {
    if (index < -size || index >= size) raise("IndexError", error);
    return index < 0 ? index + size : index;
}

}  // namespace deadrank::sim::program
