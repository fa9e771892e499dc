// sim/program/tensor_index.cpp — What stands between a tensor's brackets: numbers, slices, masks, tensors of
// places, and None for a dimension of one.
#include <algorithm>
#include <fmt/format.h>

#include "sim/program/interpreter.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

std::vector<std::int64_t> slice_places(const Value& from, const Value& to, const Value& by,
                                       std::int64_t size) {
    const auto stated = [](const Value& value) { return !value.is(Type::unset) && !value.is(Type::none); };
    const std::int64_t step = stated(by) ? as_whole(by, "slice indices") : 1;
    if (step == 0) raise("ValueError", "slice step cannot be zero");
    const std::int64_t least = step > 0 ? 0 : -1, most = step > 0 ? size : size - 1;
    const auto end = [&](const Value& value, std::int64_t otherwise) {
        if (!stated(value)) return otherwise;
        const std::int64_t asked = as_whole(value, "slice indices");
        return std::clamp(asked < 0 ? asked + size : asked, least, std::max(least, most));
    };
    const std::int64_t first = end(from, step > 0 ? least : most), last = end(to, step > 0 ? most : least);
    std::vector<std::int64_t> places;
    for (Wide at = first; step > 0 ? at < last : at > last; at += step)
        places.push_back(static_cast<std::int64_t>(at));
    return places;
}

namespace {

// The offsets that one index, or several tensors together, choose along the dimensions that they stand for.
struct Axis {
    std::vector<std::int64_t> offsets;
    bool kept = true;     // is a dimension of the result
    bool zipped = false;  // by a tensor of places
};

struct Picks {
    Shape shape;
    std::vector<std::int64_t> places;
};

// A list of places, or of flags: as a tensor of them.
Value as_places(const Value& index) {
    if (!index.is(Type::list)) return index;
    const auto& items = index.list().items;
    const bool flags = !items.empty() && items.front().is(Type::boolean);
    return Value::of(tensor_from(index, flags ? Dtype::i8 : items.empty() ? Dtype::i64 : Dtype::none));
}

// A tuple has one index for each dimension, a list is one index.
std::vector<Value> indices_of(const Value& index) {
    if (!index.is(Type::list) || !index.list().fixed) return {as_places(index)};
    std::vector<Value> indices;
    for (const Value& one_of : index.list().items) indices.push_back(as_places(one_of));
    return indices;
}

bool is_place(const Value& index) {
    return index.is(Type::whole) || index.is(Type::boolean) ||
           (index.is(Type::tensor) && index.tensor().shape.empty());
}

bool is_mask(const Value& index) { return index.is(Type::tensor) && index.tensor().dtype == Dtype::i8; }

class Picker {
public:
    // `reads`: a kernel of the device does, and looks at the places.
    explicit Picker(const Tensor& tensor, bool reads = false)
        : tensor_(tensor), on_device_(reads && tensor.place >= 0) {
        strides_.assign(tensor.shape.size(), 1);
        for (std::size_t i = tensor.shape.size(); i > 1; --i)
            strides_[i - 2] = strides_[i - 1] * tensor.shape[i - 1];
    }

    Picks picks(const std::vector<Value>& indices) {
        for (const Value& index : indices) take(index);
        for (; dim_ < tensor_.shape.size(); ++dim_) add_all();
        Picks picks{.shape = {}, .places = {0}};
        for (const Axis& axis : axes_) {
            if (axis.kept) picks.shape.push_back(std::ssize(axis.offsets));
            std::vector<std::int64_t> more;
            for (const std::int64_t place : picks.places)
                for (const std::int64_t offset : axis.offsets) more.push_back(place + offset);
            if (std::ssize(more) > most_elements)
                raise("MemoryError", "an index of more than a million places");
            picks.places = std::move(more);
        }
        return picks;
    }

    bool stopped() const { return stopped_; }

private:
    void take(const Value& index) {
        if (index.is(Type::tensor)) check_place(index.tensor());
        if (index.is(Type::none)) return axes_.push_back({.offsets = {0}});
        if (is_mask(index) && !index.tensor().shape.empty()) return take_mask(index.tensor());
        if (dim_ >= tensor_.shape.size())
            raise("IndexError",
                  fmt::format("too many indices for tensor of dimension {}", tensor_.shape.size()));
        const std::int64_t rows = tensor_.shape[dim_], stride = strides_[dim_];
        if (index.is(Type::range)) {
            const auto& ends = index.list().items;
            Axis axis;
            if (ends[2].is(Type::whole) && ends[2].number() < 0)
                raise("ValueError", "step must be greater than zero");
            for (const std::int64_t place : slice_places(ends[0], ends[1], ends[2], rows))
                axis.offsets.push_back(place * stride);
            axes_.push_back(std::move(axis));
        } else if (index.is(Type::tensor) && !index.tensor().shape.empty()) {
            take_places(index.tensor(), rows, stride);
        } else {
            axes_.push_back(
                {.offsets = {place(as_whole(index, "tensor indices"), rows) * stride}, .kept = false});
        }
        ++dim_;
    }

    // Indices may also lie in the node's memory.
    void check_place(const Tensor& index) const {
        const bool apart = index.place >= 0 && tensor_.place != anywhere && index.place != tensor_.place;
        if (apart)
            raise("RuntimeError",
                  fmt::format(
                      "indices should be either on cpu or on the same device as the indexed tensor ({})",
                      place_text(tensor_.place)));
    }

    // Of a number in the program, which the host looks at.
    std::int64_t place(std::int64_t asked, std::int64_t rows) const {
        return place_in(
            asked, rows,
            fmt::format("index {} is out of bounds for dimension {} with size {}", asked, dim_, rows));
    }

    // Of a tensor, which on a device only the kernel looks at.
    std::int64_t place_on_device(std::int64_t asked, std::int64_t rows) {
        if (!on_device_ || rows == 0 || (asked >= -rows && asked < rows)) return place(asked, rows);
        stopped_ = true;
        return 0;
    }

    // Several tensors of places are read side by side.
    void take_places(const Tensor& places, std::int64_t rows, std::int64_t stride) {
        if (!places.whole())
            raise("IndexError", "tensors used as indices must be long, int, byte or bool tensors");
        if (places.shape.size() > 1)
            raise("IndexError",
                  "a tensor of places with more than one dimension is not known here: flatten it, "
                  "and reshape what it picks");
        const auto first =
            std::find_if(axes_.begin(), axes_.end(), [](const Axis& axis) { return axis.zipped; });
        if (first == axes_.end()) {
            Axis axis{.offsets = {}, .kept = true, .zipped = true};
            for (const Number asked : places.data())
                axis.offsets.push_back(place_on_device(asked, rows) * stride);
            return axes_.push_back(std::move(axis));
        }
        if (first->offsets.size() != places.data().size())
            raise("IndexError",
                  fmt::format("shape mismatch: indexing tensors could not be broadcast together with shapes "
                              "[{}], [{}]",
                              first->offsets.size(), places.data().size()));
        for (std::size_t i = 0; i < first->offsets.size(); ++i)
            first->offsets[i] += place_on_device(places.data()[i], rows) * stride;
    }

    void take_mask(const Tensor& mask) {
        const std::size_t dims = mask.shape.size();
        for (std::size_t i = 0; i < dims; ++i) {
            if (dim_ + i < tensor_.shape.size() && tensor_.shape[dim_ + i] == mask.shape[i]) continue;
            raise("IndexError",
                  fmt::format("The shape of the mask {} at index {} does not match the shape of the "
                              "indexed tensor {} at index {}",
                              shape_text(mask.shape), i, shape_text(tensor_.shape), i));
        }
        Axis axis;
        const std::int64_t stride = strides_[dim_ + dims - 1];
        for (std::size_t i = 0; i < mask.data().size(); ++i)
            if (mask.data()[i] != 0) axis.offsets.push_back(static_cast<std::int64_t>(i) * stride);
        axes_.push_back(std::move(axis));
        dim_ += dims;
    }

    void add_all() {
        Axis axis;
        for (std::int64_t row = 0; row < tensor_.shape[dim_]; ++row)
            axis.offsets.push_back(row * strides_[dim_]);
        axes_.push_back(std::move(axis));
    }

    const Tensor& tensor_;
    Shape strides_;
    std::vector<Axis> axes_;
    std::size_t dim_ = 0;
    bool on_device_;
    bool stopped_ = false;
};

bool is_all(const Value& index) {
    const auto unset = [](const Value& end) { return end.is(Type::unset) || end.is(Type::none); };
    return index.is(Type::range) && std::all_of(index.list().items.begin(), index.list().items.end(), unset);
}

// Numbers, and one slice without a step behind them: what torch gives is a view, and so is this.
bool gives_view(std::vector<Value>& indices) {
    while (indices.size() > 1 && is_all(indices.back())) indices.pop_back();
    for (std::size_t i = 0; i < indices.size(); ++i) {
        const bool last = i + 1 == indices.size();
        const bool slice = last && indices[i].is(Type::range) && indices[i].list().items[2].is(Type::unset);
        if (!is_place(indices[i]) && !slice) return false;
    }
    return true;
}

}  // namespace

Value picked(const Value& object, const Value& index) {
    std::vector<Value> indices = indices_of(index);
    const Tensor& tensor = object.tensor();
    if (indices.size() <= std::max<std::size_t>(tensor.shape.size(), 1) && gives_view(indices)) {
        Value part = object;
        for (const Value& one_of : indices) {
            if (!part.is(Type::tensor)) raise("IndexError", "too many indices for tensor");
            part = one_of.is(Type::range) ? slice_of(part, one_of.list().items[0], one_of.list().items[1])
                                          : element_of(part, one_of);
        }
        return part;
    }
    if (auto view = basic_view(tensor, indices)) return Value::of(std::move(view));
    Picker picker(tensor, true);
    const Picks picks = picker.picks(indices);
    const auto made = new_tensor(tensor.dtype, picks.shape, tensor.place);
    if (picker.stopped()) made->stopped = Kernel::index;
    const auto from = tensor.data();
    for (std::size_t i = 0; i < picks.places.size(); ++i)
        made->data()[i] = from[static_cast<std::size_t>(picks.places[i])];
    return picks.shape.empty() ? made->element(0) : Value::of(made);
}

void put(const Value& object, const Value& index, const Value& value) {
    const Tensor& tensor = object.tensor();
    if (index.is(Type::whole) && tensor.shape.size() == 1 && value.is_number()) {
        const std::int64_t rows = tensor.shape.front(), asked = index.number();
        if (asked >= -rows && asked < rows) {
            tensor.data()[static_cast<std::size_t>(asked < 0 ? asked + rows : asked)] =
                element_from(value, tensor.dtype);
            return tensor.flush();
        }
    }
    const Picks picks = Picker(tensor).picks(indices_of(index));
    const auto moved = new_tensor(tensor.dtype, picks.shape);
    assign(*moved, value);
    const auto into = tensor.data();
    for (std::size_t i = 0; i < picks.places.size(); ++i)
        into[static_cast<std::size_t>(picks.places[i])] = moved->data()[i];
    tensor.flush();
}

}  // namespace deadrank::sim::program
