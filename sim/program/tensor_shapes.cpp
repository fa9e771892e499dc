// sim/program/tensor_shapes.cpp — Joined, cut and reshaped tensors. Parts are views, as
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

}  // namespace

std::size_t dimension(std::int64_t dim, std::size_t dimensions) {
    const std::int64_t most = std::max<std::int64_t>(static_cast<std::int64_t>(dimensions), 1);
    if (dim < -most || dim >= most)
        raise("IndexError",
              fmt::format("Dimension out of range (expected to be in range of [{}, {}], but got {})", -most,
                          most - 1, dim));
    return static_cast<std::size_t>(dim < 0 ? dim + most : dim);
}

namespace {

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
    Place place = first.place;
    for (const Value& value : tensors)
        place = common_place(first, value.tensor(),
                             "(when checking argument for argument tensors in method "
                             "wrapper_CUDA_cat)");
    const auto made = new_tensor(first.dtype, shape, place);
    const auto cut = static_cast<std::ptrdiff_t>(along);
    const std::int64_t outer = product(shape.begin(), shape.begin() + cut);
    const std::int64_t row = product(shape.begin() + cut, shape.end());
    std::int64_t offset = 0;
    for (const Value& value : tensors) {
        const auto own = value.tensor().strided ? value.tensor().dense() : value.shared_tensor();
        const Tensor& part = *own;
        const std::int64_t width = product(part.shape.begin() + cut, part.shape.end());
        for (std::int64_t i = 0; i < outer * width; ++i)
            made->data()[static_cast<std::size_t>(i / width * row + offset + i % width)] =
                converted(part.data()[static_cast<std::size_t>(i)], part.dtype, first.dtype);
        offset += width;
    }
    return Value::of(made);
}

Value stacked(const std::vector<Value>& tensors, std::int64_t dim) {
    if (tensors.empty()) raise("RuntimeError", "stack expects a non-empty TensorList");
    const Shape& each = as_part(tensors.front()).shape;
    const auto along = static_cast<std::ptrdiff_t>(dimension(dim, each.size() + 1));
    std::vector<Value> rows;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const Tensor& one_of = as_part(tensors[i]);
        if (one_of.shape != each)
            raise("RuntimeError",
                  fmt::format(
                      "stack expects each tensor to be equal size, but got {} at entry 0 and {} at entry {}",
                      shape_text(each), shape_text(one_of.shape), i));
        Shape row = each;
        row.insert(row.begin() + along, 1);
        rows.push_back(Value::of(one_of.part(0, row)));
    }
    return joined(rows, along);
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

Blocks blocks_of(const Shape& shape, std::size_t dim) {
    const auto at = shape.begin() + static_cast<std::ptrdiff_t>(std::min(dim, shape.size()));
    Blocks blocks;
    blocks.outer = product(shape.begin(), at);
    if (at == shape.end()) return blocks;
    blocks.size = *at;
    blocks.inner = product(at + 1, shape.end());
    return blocks;
}

namespace {

// Pieces of one size, and a last one that is smaller.
Shape pieces(std::int64_t rows, std::int64_t size) {
    Shape sizes;
    for (std::int64_t left = rows; left > 0; left -= size) sizes.push_back(std::min(left, size));
    if (sizes.empty()) sizes.push_back(0);
    return sizes;
}

std::int64_t stated_dim(const TensorArguments& given, std::size_t place, std::int64_t usual) {
    return is_stated(given, place) ? as_whole(given[place], "dim") : usual;
}

Value cut(const Tensor& tensor, const Shape& sizes, std::size_t dim) {
    if (dim == 0) return Value::new_list(parts(tensor, sizes));
    std::vector<Value> cut_out;
    const Blocks blocks = blocks_of(tensor.shape, dim);
    std::int64_t sum = 0;
    for (const std::int64_t size : sizes) sum += size;
    if (sum != blocks.size)
        raise("RuntimeError",
              fmt::format("split_with_sizes expects split_sizes to sum exactly to {} (input tensor's size at "
                          "dimension {}), but got split_sizes={}",
                          blocks.size, dim, shape_text(sizes)));
    std::int64_t at = 0;
    for (const std::int64_t size : sizes) {
        Shape shape = tensor.shape;
        shape[dim] = size;
        const Shape strides = strides_of(tensor);
        cut_out.push_back(Value::of(view_of(tensor, at * strides[dim], std::move(shape), strides)));
        at += size;
    }
    return Value::new_list(std::move(cut_out));
}

Value chunk(const Value& object, const TensorArguments& given) {
    const Tensor& tensor = object.tensor();
    const std::int64_t count = as_whole(needed(given, 0, "chunk"), "chunks");
    if (count < 1)
        raise("RuntimeError", fmt::format("chunk expects `chunks` to be greater than 0, got: {}", count));
    const std::size_t dim = dimension(stated_dim(given, 1, 0), tensor.shape.size());
    const std::int64_t rows = blocks_of(tensor.shape, dim).size;
    return cut(tensor, pieces(rows, std::max<std::int64_t>((rows + count - 1) / count, 1)), dim);
}

Value split(const Value& object, const TensorArguments& given) {
    const Tensor& tensor = object.tensor();
    const Value& sizes = needed(given, 0, "split");
    const std::size_t dim = dimension(stated_dim(given, 1, 0), tensor.shape.size());
    if (sizes.is(Type::list)) {
        Shape wanted;
        for (const Value& size : sizes.list().items) wanted.push_back(as_whole(size, "a split size"));
        return cut(tensor, wanted, dim);
    }
    const std::int64_t size = as_whole(sizes, "split_size");
    if (size < 1)
        raise("RuntimeError",
              fmt::format("split expects split_size be non-negative, but got split_size={}", size));
    return cut(tensor, pieces(blocks_of(tensor.shape, dim).size, size), dim);
}

// A view whose dimensions stand in another order.
Value permuted(const Tensor& tensor, const std::vector<std::size_t>& order) {
    const Shape strides = strides_of(tensor);
    Shape shape, steps;
    for (const std::size_t dim : order) shape.push_back(tensor.shape[dim]), steps.push_back(strides[dim]);
    return Value::of(view_of(tensor, 0, std::move(shape), std::move(steps)));
}

Value transpose(const Value& object, const TensorArguments& given) {
    const std::size_t dims = object.tensor().shape.size();
    std::vector<std::size_t> order(dims);
    for (std::size_t i = 0; i < dims; ++i) order[i] = i;
    if (dims > 0)
        std::swap(order[dimension(as_whole(needed(given, 0, "transpose"), "dim0"), dims)],
                  order[dimension(as_whole(needed(given, 1, "transpose"), "dim1"), dims)]);
    return permuted(object.tensor(), order);
}

Value t(const Value& object, const TensorArguments&) {
    const std::size_t dims = object.tensor().shape.size();
    if (dims > 2)
        raise("RuntimeError",
              fmt::format("t() expects a tensor with <= 2 dimensions, but self is {}D", dims));
    return dims < 2 ? object : permuted(object.tensor(), {1, 0});
}

Value permute(const Value& object, const TensorArguments& given) {
    const std::size_t dims = object.tensor().shape.size();
    std::vector<std::size_t> order;
    for (const std::int64_t dim : shape_from(Value::new_list(given))) order.push_back(dimension(dim, dims));
    std::vector<std::size_t> sorted_order = order;
    std::sort(sorted_order.begin(), sorted_order.end());
    if (order.size() != dims ||
        std::adjacent_find(sorted_order.begin(), sorted_order.end()) != sorted_order.end())
        raise(
            "RuntimeError",
            fmt::format("permute(sparse_coo): number of dimensions in the tensor input does not match the "
                        "length of the desired ordering of dimensions i.e. input.dim() = {} is not equal to "
                        "len(dims) = {}",
                        dims, order.size()));
    return permuted(object.tensor(), order);
}

Value reshape(const Value& object, const TensorArguments& given) {
    return Value::of(reshaped(object.tensor(), shape_from(Value::new_list(given))));
}

Value view(const Value& object, const TensorArguments& given) {
    if (object.tensor().strided)
        raise("RuntimeError",
              "view size is not compatible with input tensor's size and stride (at least one dimension spans "
              "across two contiguous subspaces). Use .reshape(...) instead.");
    return reshape(object, given);
}

Value flatten(const Value& object, const TensorArguments&) {
    return Value::of(reshaped(object.tensor(), {object.tensor().count()}));
}

Value unsqueeze(const Value& object, const TensorArguments& given) {
    Shape shape = object.tensor().shape;
    const std::size_t dim = dimension(as_whole(needed(given, 0, "unsqueeze"), "dim"), shape.size() + 1);
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(dim), 1);
    return Value::of(object.tensor().part(0, shape));
}

Value squeeze(const Value& object, const TensorArguments& given) {
    Shape shape = object.tensor().shape;
    if (!is_stated(given, 0)) {
        std::erase(shape, 1);
    } else {
        const std::size_t dim = dimension(as_whole(given[0], "dim"), shape.size());
        if (dim < shape.size() && shape[dim] == 1)
            shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(dim));
    }
    return Value::of(object.tensor().part(0, shape));
}

Value expand(const Value& object, const TensorArguments& given) {
    const Tensor& tensor = object.tensor();
    Shape shape = shape_from(Value::new_list(given));
    for (std::size_t back = 1; back <= shape.size() && back <= tensor.shape.size(); ++back) {
        std::int64_t& size = shape[shape.size() - back];
        if (size == -1) size = tensor.shape[tensor.shape.size() - back];
    }
    if (broadcast_shape(shape, tensor.shape) != shape) {  // refused in the words of an assignment
        const auto made = new_tensor(tensor.dtype, shape, tensor.place);
        assign(*made, object);
    }
    const Shape strides = strides_of(tensor);
    Shape steps(shape.size(), 0);
    for (std::size_t back = 1; back <= tensor.shape.size(); ++back)
        if (tensor.shape[tensor.shape.size() - back] != 1)
            steps[steps.size() - back] = strides[strides.size() - back];
    return Value::of(view_of(tensor, 0, std::move(shape), std::move(steps)));
}

Value narrow(const Value& object, const TensorArguments& given) {
    const Tensor& tensor = object.tensor();
    const std::size_t dim = dimension(as_whole(needed(given, 0, "narrow"), "dim"), tensor.shape.size());
    const std::int64_t start = as_whole(needed(given, 1, "narrow"), "start");
    const std::int64_t length = as_whole(needed(given, 2, "narrow"), "length");
    const std::int64_t size = blocks_of(tensor.shape, dim).size;
    if (start < 0 || length < 0 || start + length > size)
        raise("RuntimeError",
              fmt::format("start ({}) + length ({}) exceeds dimension size ({}).", start, length, size));
    return cut(tensor, {start, length, size - start - length}, dim).list().items[1];
}

Value size(const Value& object, const TensorArguments& given) {
    const Shape& shape = object.tensor().shape;
    if (is_stated(given, 0)) {
        if (shape.empty()) raise("IndexError", "Dimension specified as 0 but tensor has no dimensions");
        return Value::whole(shape[dimension(as_whole(given[0], "dim"), shape.size())]);
    }
    std::vector<Value> sizes;
    for (const std::int64_t one_of : shape) sizes.push_back(Value::whole(one_of));
    return Value::new_list(std::move(sizes));
}

Value numel(const Value& object, const TensorArguments&) { return Value::whole(object.tensor().count()); }
Value ndim(const Value& object, const TensorArguments&) {
    return Value::whole(std::ssize(object.tensor().shape));
}

}  // namespace

std::vector<TensorMethod> shape_methods() {
    return {{"shape", size},    {"size", size},       {"numel", numel},         {"ndim", ndim},
            {"dim", ndim},      {"reshape", reshape}, {"view", view},           {"flatten", flatten},
            {"chunk", chunk},   {"split", split},     {"transpose", transpose}, {"t", t},
            {"T", t},           {"permute", permute}, {"unsqueeze", unsqueeze}, {"squeeze", squeeze},
            {"expand", expand}, {"narrow", narrow}};
}

std::int64_t place_in(std::int64_t index, std::int64_t size, std::string_view error) {
    if (index < -size || index >= size) raise("IndexError", error);
    return index < 0 ? index + size : index;
}

}  // namespace deadrank::sim::program
