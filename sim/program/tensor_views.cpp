// sim/program/tensor_views.cpp — Views whose elements do not follow each other in memory: columns, transposed
// matrices, every second row. Such a view keeps a copy of its elements in row order, which is read from where
// they lie before each use and written back after each change. Texts: torch 2.11.
#include <algorithm>
#include <fmt/format.h>
#include <numeric>

#include "sim/program/interpreter.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

namespace {

Shape row_strides(const Shape& shape) {
    Shape strides(shape.size(), 1);
    for (std::size_t i = shape.size(); i > 1; --i)
        strides[i - 2] = strides[i - 1] * std::max<std::int64_t>(shape[i - 1], 1);
    return strides;
}

// A dimension of one element has no step that matters.
bool follows(const Shape& shape, const Shape& strides) {
    const Shape usual = row_strides(shape);
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (shape[i] == 0) return true;
        if (shape[i] != 1 && strides[i] != usual[i]) return false;
    }
    return true;
}

// Calls visit(place in row order, place in memory) for each element.
template <class Visit>
void each_place(const Tensor& tensor, Visit visit) {
    const Shape& shape = tensor.shape;
    const std::int64_t count = tensor.count();
    for (std::int64_t i = 0; i < count; ++i) {
        std::int64_t left = i, place = static_cast<std::int64_t>(tensor.strided->first);
        for (std::size_t back = shape.size(); back > 0; --back) {
            place += left % shape[back - 1] * tensor.strided->strides[back - 1];
            left /= shape[back - 1];
        }
        visit(static_cast<std::size_t>(i), static_cast<std::size_t>(place));
    }
}

}  // namespace

void Tensor::gather() const {
    each_place(*this, [&](std::size_t at, std::size_t below) { (*memory)[at] = (*strided->of)[below]; });
}

void Tensor::flush() const {
    if (!strided) return;
    for (std::size_t i = 0; i < shape.size(); ++i)
        if (shape[i] > 1 && strided->strides[i] == 0)
            raise("RuntimeError",
                  "unsupported operation: more than one element of the written-to tensor refers to a single "
                  "memory location. Please clone() the tensor before performing the operation.");
    each_place(*this, [&](std::size_t at, std::size_t below) { (*strided->of)[below] = (*memory)[at]; });
}

std::shared_ptr<Tensor> Tensor::dense() const { return cast(*this, dtype); }

Shape strides_of(const Tensor& tensor) {
    return tensor.strided ? tensor.strided->strides : row_strides(tensor.shape);
}

std::shared_ptr<Tensor> view_of(const Tensor& tensor, std::int64_t from, Shape shape, Shape strides) {
    auto view = std::make_shared<Tensor>();
    view->dtype = tensor.dtype;
    view->place = tensor.place;
    view->shape = std::move(shape);
    const auto& memory = tensor.strided ? tensor.strided->of : tensor.memory;
    const std::size_t first =
        (tensor.strided ? tensor.strided->first : tensor.first) + static_cast<std::size_t>(from);
    if (follows(view->shape, strides)) {
        view->memory = memory;
        view->first = view->count() == 0 ? 0 : first;
        return view;
    }
    if (view->count() > most_elements)
        raise("MemoryError", fmt::format("a tensor of more than {} elements", most_elements));
    view->memory = std::make_shared<std::vector<Number>>(static_cast<std::size_t>(view->count()), 0);
    view->strided = std::make_shared<const Strided>(Strided{memory, first, std::move(strides)});
    return view;
}

// Rows of a view, or one of them, are views of the same memory; in any other shape it is a copy.
std::shared_ptr<Tensor> part_of_view(const Tensor& tensor, std::int64_t from, Shape shape) {
    const auto inner = [](const Shape& whole) {
        return Shape(whole.begin() + (whole.empty() ? 0 : 1), whole.end());
    };
    const Shape& strides = tensor.strided->strides;
    const std::int64_t rows = tensor.shape.empty() ? 0 : tensor.shape.front();
    const std::int64_t row = rows == 0 ? 0 : from / std::max<std::int64_t>(tensor.count() / rows, 1);
    if (shape.size() == tensor.shape.size() && inner(shape) == inner(tensor.shape))
        return view_of(tensor, strides.empty() ? 0 : row * strides.front(), std::move(shape), strides);
    if (shape == inner(tensor.shape))
        return view_of(tensor, row * strides.front(), std::move(shape), inner(strides));
    return tensor.dense()->part(from, std::move(shape));
}

std::shared_ptr<Tensor> in_order_of(const Tensor& operand, std::shared_ptr<Tensor> made) {
    if (!operand.strided || operand.shape != made->shape) return made;
    const Shape& shape = made->shape;
    const Shape& steps = operand.strided->strides;
    std::vector<std::size_t> order(shape.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (const std::size_t dim : order)
        if (steps[dim] == 0 && shape[dim] > 1) return made;  // expanded: none of its own
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return steps[a] > steps[b]; });
    Shape strides(shape.size(), 1);
    std::int64_t next = 1;
    for (auto dim = order.rbegin(); dim != order.rend(); ++dim) {
        strides[*dim] = next;
        next *= std::max<std::int64_t>(shape[*dim], 1);
    }
    if (follows(shape, strides)) return made;
    const auto kept = view_of(*new_tensor(made->dtype, shape, made->place), 0, shape, std::move(strides));
    std::copy_n(made->data().begin(), made->count(), kept->memory->begin());
    kept->flush();
    return kept;
}

std::shared_ptr<Tensor> behind_pointer(const std::shared_ptr<Tensor>& tensor) {
    if (!tensor->strided) return tensor;
    const Strided& strided = *tensor->strided;
    if (strided.first + static_cast<std::size_t>(tensor->count()) > strided.of->size())
        return tensor->dense();
    auto raw = std::make_shared<Tensor>();
    raw->memory = strided.of;
    raw->first = strided.first;
    raw->shape = tensor->shape;
    raw->dtype = tensor->dtype;
    raw->place = tensor->place;
    return raw;
}

namespace {

Value stride(const Value& object, const TensorArguments& given) {
    const Shape strides = strides_of(object.tensor());
    if (is_stated(given, 0))
        return Value::whole(strides.at(dimension(as_whole(given[0], "dim"), strides.size())));
    std::vector<Value> all;
    for (const std::int64_t one_of : strides) all.push_back(Value::whole(one_of));
    return Value::new_tuple(std::move(all));
}

Value is_contiguous(const Value& object, const TensorArguments&) {
    return Value::boolean(!object.tensor().strided);
}

Value contiguous(const Value& object, const TensorArguments&) {
    return object.tensor().strided ? Value::of(object.tensor().dense()) : object;
}

}  // namespace

std::vector<TensorMethod> view_methods() {
    return {{"stride", stride}, {"is_contiguous", is_contiguous}, {"contiguous", contiguous}};
}

// Numbers, slices and None alone choose a view; nothing where there is another index among them.
std::shared_ptr<Tensor> basic_view(const Tensor& tensor, const std::vector<Value>& indices) {
    const Shape strides = strides_of(tensor);
    Shape shape, steps;
    std::int64_t from = 0;
    std::size_t dim = 0;
    for (const Value& index : indices) {
        if (index.is(Type::none)) {
            shape.push_back(1), steps.push_back(0);
            continue;
        }
        if (dim >= tensor.shape.size()) return nullptr;
        const std::int64_t rows = tensor.shape[dim];
        if (index.is(Type::whole)) {
            if (index.number() < -rows || index.number() >= rows) return nullptr;
            from += (index.number() < 0 ? index.number() + rows : index.number()) * strides[dim++];
            continue;
        }
        if (!index.is(Type::range)) return nullptr;
        const auto& ends = index.list().items;
        if (ends[2].is(Type::whole) && ends[2].number() < 0) return nullptr;
        const auto places = slice_places(ends[0], ends[1], ends[2], rows);
        if (!places.empty()) from += places.front() * strides[dim];
        shape.push_back(std::ssize(places));
        steps.push_back(strides[dim++] * (ends[2].is(Type::whole) ? ends[2].number() : 1));
    }
    for (; dim < tensor.shape.size(); ++dim)
        shape.push_back(tensor.shape[dim]), steps.push_back(strides[dim]);
    return shape.empty() ? nullptr : view_of(tensor, from, std::move(shape), std::move(steps));
}

}  // namespace deadrank::sim::program
