// sim/program/tensor_places.cpp — Elements that change their places: picked, turned, repeated, counted.
#include <algorithm>
#include <fmt/format.h>

#include "sim/program/interpreter.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

using scenarios::program::Operator;

namespace {

// A new tensor of this shape, whose elements come from the places that `source` names.
template <class Source>
Value moved_from(const Tensor& tensor, Shape shape, Source source) {
    const auto made = new_tensor(tensor.dtype, std::move(shape), tensor.place);
    for (std::int64_t i = 0; i < made->count(); ++i)
        made->data()[static_cast<std::size_t>(i)] = tensor.data()[static_cast<std::size_t>(source(i))];
    return Value::of(made);
}

const Tensor& tensor_at(const TensorArguments& given, std::size_t place, std::string_view name) {
    const Value& value = needed(given, place, name);
    if (!value.is(Type::tensor))
        raise("TypeError",
              fmt::format("{}(): argument {} must be Tensor, not {}", name, place + 1, type_word(value)));
    return value.tensor();
}

// The k first in the order from the largest, or the smallest, along a dimension.
Value topk(const Value& object, const TensorArguments& given) {
    const std::int64_t k = as_whole(needed(given, 0, "topk"), "k");
    const Value dim = is_stated(given, 1) ? given[1] : Value::whole(-1);
    const bool largest = !is_stated(given, 2) || truth(given[2]);
    const auto& shape = object.tensor().shape;
    const std::size_t along = dimension(as_whole(dim, "dim"), shape.size());
    const std::int64_t size = blocks_of(shape, along).size;
    if (k < 0 || k > size) raise("RuntimeError", "selected index k out of range");
    const Value sorted = method(object, "sort", {dim, Value::boolean(largest)});
    std::vector<Value> cut;
    for (const Value& part : sorted.list().items)
        cut.push_back(shape.empty() ? part : method(part, "narrow", {dim, Value::whole(0), Value::whole(k)}));
    return Value::new_tuple(std::move(cut));
}

Value larger(const Value& object, const TensorArguments& given) {
    const Value& other = needed(given, 0, "maximum");
    (void)tensor_at(given, 0, "maximum");
    return chosen(calculated(Operator::greater, object, other), object, other);
}
Value smaller(const Value& object, const TensorArguments& given) {
    const Value& other = needed(given, 0, "minimum");
    (void)tensor_at(given, 0, "minimum");
    return chosen(calculated(Operator::less, object, other), object, other);
}

Value pow(const Value& object, const TensorArguments& given) {
    return calculated(Operator::power, object, needed(given, 0, "pow"));
}

Value index_select(const Value& object, const TensorArguments& given) {
    const Tensor& tensor = object.tensor();
    const std::size_t dim = dimension(as_whole(needed(given, 0, "index_select"), "dim"), tensor.shape.size());
    const Tensor& index = tensor_at(given, 1, "index_select");
    if (!index.whole()) raise("RuntimeError", "index_select(): Expected dtype int32 or int64 for index");
    if (index.shape.size() > 1) raise("IndexError", "index_select(): Index is supposed to be a vector");
    const Blocks blocks = blocks_of(tensor.shape, dim);
    bool outside = false;
    for (const Number place : index.data()) outside |= place < 0 || place >= blocks.size;
    const bool stops = outside && tensor.place >= 0 && blocks.size > 0;
    if (outside && !stops) raise("IndexError", "index out of range in self");
    const std::int64_t chosen_ones = index.count();
    Shape shape = tensor.shape;
    if (dim < shape.size()) shape[dim] = chosen_ones;
    const Value made = moved_from(tensor, shape, [&](std::int64_t i) {
        const std::int64_t inner = i % blocks.inner, at = i / blocks.inner % chosen_ones;
        const std::int64_t outer = i / blocks.inner / chosen_ones;
        const Number row = stops ? 0 : index.data()[static_cast<std::size_t>(at)];
        return (outer * blocks.size + row) * blocks.inner + inner;
    });
    if (stops) made.tensor().stopped = Kernel::index_select;
    return made;
}

// The index may be shorter than the tensor in other dimensions.
Value gather(const Value& object, const TensorArguments& given) {
    const Tensor& tensor = object.tensor();
    const std::size_t dims = tensor.shape.size();
    const std::size_t dim = dimension(as_whole(needed(given, 0, "gather"), "dim"), dims);
    const Tensor& index = tensor_at(given, 1, "gather");
    if (!index.whole()) raise("RuntimeError", "gather(): Expected dtype int32/int64 for index");
    if (index.shape.size() != dims)
        raise("RuntimeError", "Index tensor must have the same number of dimensions as input tensor");
    for (std::size_t d = 0; d < dims; ++d)
        if (d != dim && index.shape[d] > tensor.shape[d])
            raise("RuntimeError",
                  fmt::format("Size does not match at dimension {} expected index {} to be no larger than "
                              "self {} apart from dimension {}",
                              d, shape_text(index.shape), shape_text(tensor.shape), dim));
    bool stops = false;
    const Value made = moved_from(tensor, index.shape, [&](std::int64_t i) {
        std::int64_t left = i, stride = 1, source = 0;
        const Number asked = index.data()[static_cast<std::size_t>(i)];
        for (std::size_t d = dims; d > 0; --d) {
            std::int64_t at = d - 1 == dim ? asked : left % index.shape[d - 1];
            const bool outside = at < 0 || at >= tensor.shape[d - 1];
            stops |= outside && tensor.place >= 0 && tensor.count() > 0;
            if (outside && stops) at = 0;
            if (outside && !stops)
                raise("RuntimeError", fmt::format("index {} is out of bounds for dimension {} with size {}",
                                                  at, d - 1, tensor.shape[d - 1]));
            left /= index.shape[d - 1];
            source += at * stride;
            stride *= tensor.shape[d - 1];
        }
        return source;
    });
    if (stops) made.tensor().stopped = Kernel::gather;
    return made;
}

Value flip(const Value& object, const TensorArguments& given) {
    const Tensor& tensor = object.tensor();
    const std::size_t dims = tensor.shape.size();
    std::vector<bool> turned(dims);
    for (const std::int64_t asked : shape_from(Value::new_list(given))) turned[dimension(asked, dims)] = true;
    return moved_from(tensor, tensor.shape, [&](std::int64_t i) {
        std::int64_t left = i, stride = 1, source = 0;
        for (std::size_t d = dims; d > 0; --d) {
            const std::int64_t size = tensor.shape[d - 1], at = left % size;
            source += (turned[d - 1] ? size - 1 - at : at) * stride;
            left /= size;
            stride *= size;
        }
        return source;
    });
}

// Without a dimension as if it had one alone.
Value roll(const Value& object, const TensorArguments& given) {
    const Tensor& tensor = object.tensor();
    const std::int64_t shifts = as_whole(needed(given, 0, "roll"), "shifts");
    Blocks blocks{.outer = 1, .size = tensor.count(), .inner = 1};
    if (is_stated(given, 1))
        blocks = blocks_of(tensor.shape, dimension(as_whole(given[1], "dims"), tensor.shape.size()));
    return moved_from(tensor, tensor.shape, [&](std::int64_t i) {
        const std::int64_t inner = i % blocks.inner, at = i / blocks.inner % blocks.size;
        const std::int64_t outer = i / blocks.inner / blocks.size;
        const std::int64_t by = shifts % blocks.size;
        return (outer * blocks.size + (at - by + blocks.size) % blocks.size) * blocks.inner + inner;
    });
}

Value repeat(const Value& object, const TensorArguments& given) {
    const Tensor& tensor = object.tensor();
    const Shape times = shape_from(Value::new_list(given));
    if (times.size() < tensor.shape.size())
        raise("RuntimeError",
              "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
    Shape from(times.size() - tensor.shape.size(), 1);
    from.insert(from.end(), tensor.shape.begin(), tensor.shape.end());
    Shape shape;
    for (std::size_t d = 0; d < times.size(); ++d) {
        if (times[d] < 0 || times[d] > most_elements)
            raise("RuntimeError", "repeat dims must be from 0 to a million");
        shape.push_back(from[d] * times[d]);
    }
    return moved_from(tensor, shape, [&](std::int64_t i) {
        std::int64_t left = i, stride = 1, source = 0;
        for (std::size_t d = shape.size(); d > 0; --d) {
            source += left % shape[d - 1] % from[d - 1] * stride;
            left /= shape[d - 1];
            stride *= from[d - 1];
        }
        return source;
    });
}

// Of the last two dimensions, what is on one side of a diagonal.
Value triangle(const Value& object, const TensorArguments& given, bool lower) {
    const auto made = cast(object.tensor(), object.tensor().dtype);
    if (made->shape.size() < 2)
        raise("RuntimeError",
              fmt::format("{}: input tensor must have at least 2 dimensions", lower ? "tril" : "triu"));
    const std::int64_t diagonal = is_stated(given, 0) ? as_whole(given[0], "diagonal") : 0;
    const std::int64_t columns = made->shape.back(), rows = made->shape[made->shape.size() - 2];
    for (std::int64_t i = 0; i < made->count(); ++i) {
        const std::int64_t row = i / columns % rows, column = i % columns;
        const bool kept = lower ? column - row <= diagonal : column - row >= diagonal;
        if (!kept) made->data()[static_cast<std::size_t>(i)] = 0;
    }
    return Value::of(made);
}
Value tril(const Value& object, const TensorArguments& given) { return triangle(object, given, true); }
Value triu(const Value& object, const TensorArguments& given) { return triangle(object, given, false); }

Value outer(const Value& object, const TensorArguments& given) {
    const Tensor &a = object.tensor(), &b = tensor_at(given, 0, "outer");
    if (a.shape.size() != 1 || b.shape.size() != 1)
        raise("RuntimeError", "outer: Expected 1-D arguments, but got another number of dimensions");
    return calculated(Operator::multiply, Value::of(a.part(0, {a.count(), 1})), given[0]);
}

Value bincount(const Value& object, const TensorArguments& given) {
    const Tensor& tensor = object.tensor();
    std::int64_t size = is_stated(given, 0) ? as_whole(given[0], "minlength") : 0;
    if (!tensor.whole() || tensor.shape.size() != 1)
        raise("RuntimeError", "bincount only supports 1-d non-negative integral inputs.");
    for (const Number element : tensor.data()) {
        if (element < 0) raise("RuntimeError", "bincount only supports 1-d non-negative integral inputs.");
        size = std::max(size, std::min(element, most_elements) + 1);
    }
    const auto made = new_tensor(Dtype::i64, {size}, tensor.place);
    for (const Number element : tensor.data()) ++made->data()[static_cast<std::size_t>(element)];
    return Value::of(made);
}

Value nonzero(const Value& object, const TensorArguments&) {
    const Tensor& tensor = object.tensor();
    const auto dims = std::ssize(tensor.shape);
    const std::int64_t rows = tensor.count() - std::count(tensor.data().begin(), tensor.data().end(), 0);
    const auto made = new_tensor(Dtype::i64, {rows, dims}, tensor.place);
    std::int64_t row = 0;
    for (std::int64_t i = 0; i < tensor.count(); ++i) {
        if (tensor.data()[static_cast<std::size_t>(i)] == 0) continue;
        std::int64_t left = i;
        for (std::int64_t d = dims; d > 0; --d) {
            const std::int64_t size = tensor.shape[static_cast<std::size_t>(d - 1)];
            made->data()[static_cast<std::size_t>(row * dims + d - 1)] = left % size;
            left /= size;
        }
        ++row;
    }
    return Value::of(made);
}

}  // namespace

std::vector<TensorMethod> place_methods() {
    return {{"topk", topk},       {"maximum", larger},
            {"minimum", smaller}, {"pow", pow},
            {"flip", flip},       {"gather", gather},
            {"roll", roll},       {"repeat", repeat},
            {"tril", tril},       {"triu", triu},
            {"outer", outer},     {"bincount", bincount},
            {"nonzero", nonzero}, {"index_select", index_select}};
}

}  // namespace deadrank::sim::program
