// sim/program/program_tensor.h — What torch does with tensors, and the words in which it refuses to.
#pragma once

#include "scenarios/program/program_tree.h"
#include "sim/program/program_value.h"

namespace deadrank::sim::program {

using Shape = std::vector<std::int64_t>;

inline constexpr std::int64_t most_elements = 1 << 20;

std::shared_ptr<Tensor> new_tensor(Dtype dtype, Shape shape, Place place = anywhere);  // zeros
std::shared_ptr<Tensor> tensor_from(const Value& values, Dtype dtype);  // none: as the values are
Dtype dtype_of(const Value& word);  // "float32", "torch.float32"; raises TypeError
std::string_view dtype_text(Dtype dtype);
std::string tensor_text(const Tensor& tensor);
std::string shape_text(const Shape& shape);  // [2, 3]
Shape shape_from(const Value& sizes);        // of a list of arguments, or of a list of one list

// Devices. cuda:1, cpu; and the place of what comes of two tensors, which raises where they do not lie
// together: `where` names the argument and the function, as torch does behind its sentence.
std::string place_text(Place place);
Place common_place(const Tensor& a, const Tensor& b, std::string_view where = {});

bool is_whole(Dtype dtype);
std::int64_t element_bytes(Dtype dtype);
std::string_view float8_text(Dtype dtype);  // as torch names the type to people
Number fitted(Number value, Dtype dtype);   // rounded or wrapped as the type would
void fit(Tensor& tensor);                   // all of its elements

// Shapes that go together, and where the element of a result comes from in an operand of such a shape.
Shape broadcast_shape(const Shape& a, const Shape& b);
std::size_t source_of(std::int64_t place, const Shape& shape, const Shape& operand);

// Elements between types: a decimal is cut toward zero, and small types round as they would.
Number converted(Number element, Dtype from, Dtype to);
Number element_from(const Value& value, Dtype dtype);

[[noreturn]] void refuse_order(scenarios::program::Operator op, const Value& a, const Value& b);
Value calculated(scenarios::program::Operator op, const Value& a, const Value& b);  // one is a tensor
std::string_view sign_of(scenarios::program::Operator op);                          // as Python writes it
// An elementwise result in the order in memory of this operand of its shape, as torch's preserve_format does.
std::shared_ptr<Tensor> in_order_of(const Tensor& operand, std::shared_ptr<Tensor> made);
std::shared_ptr<Tensor> cast(const Tensor& tensor, Dtype dtype);    // always a copy
void assign(Tensor& into, const Value& value);                      // of one shape, or one number for all
Value joined(const std::vector<Value>& tensors, std::int64_t dim);  // torch.cat
Value stacked(const std::vector<Value>& tensors, std::int64_t dim = 0);
std::shared_ptr<Tensor> reshaped(const Tensor& tensor, Shape shape);
std::vector<Value> parts(const Tensor& tensor, const Shape& sizes);    // along the first dimension
Value multiplied(const Tensor& a, const Tensor& b);                    // torch.matmul
Value chosen(const Value& condition, const Value& a, const Value& b);  // torch.where

// What stands between brackets, unless it is one slice: x[1, :], x[x > 0], x[rows, columns]. Numbers, and one
// slice behind them, give a view; all else a copy.
Value picked(const Value& object, const Value& index);
void put(const Value& object, const Value& index, const Value& value);
std::vector<std::int64_t> slice_places(const Value& from, const Value& to, const Value& by,
                                       std::int64_t size);

// Views, whose elements need not follow each other. `from` counts in memory.
Shape strides_of(const Tensor& tensor);
std::shared_ptr<Tensor> view_of(const Tensor& tensor, std::int64_t from, Shape shape, Shape strides);
std::shared_ptr<Tensor> part_of_view(const Tensor& tensor, std::int64_t from, Shape shape);
std::shared_ptr<Tensor> basic_view(const Tensor& tensor, const std::vector<Value>& indices);
// What a library takes that looks at the first element's address alone: as many as there are, one after the
// other.
std::shared_ptr<Tensor> behind_pointer(const std::shared_ptr<Tensor>& tensor);

void take_data(Tensor& into, const Value& from);  // x.data = y

// A dimension that may count from the end.
std::size_t dimension(std::int64_t dim, std::size_t dimensions);
// Around a dimension: how many blocks of `size` rows of `inner` elements.
struct Blocks {
    std::int64_t outer = 1, size = 1, inner = 1;
};
Blocks blocks_of(const Shape& shape, std::size_t dim);

using TensorArguments = std::vector<Value>;
struct TensorMethod {
    std::string_view name;
    Value (*call)(const Value& object, const TensorArguments& given);
};
std::vector<TensorMethod> shape_methods();
std::vector<TensorMethod> element_methods();
std::vector<TensorMethod> reduction_methods();
std::vector<TensorMethod> place_methods();
std::vector<TensorMethod> view_methods();
const Value& needed(const TensorArguments& given, std::size_t place, std::string_view name);
bool is_stated(const TensorArguments& given, std::size_t place);

// Words behind a tensor's dot that only the rank can answer.
inline constexpr std::string_view words_of_chance[] = {"normal_", "uniform_"};
inline constexpr std::string_view words_of_places[] = {"device", "is_cuda", "to",
                                                       "cuda",   "cpu",     "record_stream"};

Value method(const Value& object, const std::string& name, const std::vector<Value>& arguments);

// An index that may count from the end; raises IndexError.
std::int64_t place_in(std::int64_t index, std::int64_t size, std::string_view error);

}  // namespace deadrank::sim::program
