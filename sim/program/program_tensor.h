// sim/program/program_tensor.h — What torch does with tensors, and the words in which it refuses to.
#pragma once

#include "scenarios/program/program_tree.h"
#include "sim/program/program_value.h"

namespace deadrank::sim::program {

using Shape = std::vector<std::int64_t>;

inline constexpr std::int64_t most_elements = 1 << 20;

std::shared_ptr<Tensor> new_tensor(Dtype dtype, Shape shape);           // zeros
std::shared_ptr<Tensor> tensor_from(const Value& values, Dtype dtype);  // none: as the values are
Dtype dtype_of(const Value& word);  // "float32", "torch.float32"; raises TypeError
std::string_view dtype_text(Dtype dtype);
std::string tensor_text(const Tensor& tensor);
std::string shape_text(const Shape& shape);  // [2, 3]
Shape shape_from(const Value& sizes);        // of a list of arguments, or of a list of one list

// Elements between types: a decimal is cut toward zero, and small types round as they would.
Number converted(Number element, Dtype from, Dtype to);
Number element_from(const Value& value, Dtype dtype);

Value calculated(scenarios::program::Operator op, const Value& a, const Value& b);  // one is a tensor
std::shared_ptr<Tensor> cast(const Tensor& tensor, Dtype dtype);                    // always a copy
void assign(Tensor& into, const Value& value);                      // of one shape, or one number for all
Value joined(const std::vector<Value>& tensors, std::int64_t dim);  // torch.cat
Value stacked(const std::vector<Value>& tensors);
std::shared_ptr<Tensor> reshaped(const Tensor& tensor, Shape shape);
std::vector<Value> parts(const Tensor& tensor, const Shape& sizes);  // along the first dimension
std::vector<Value> chunks(const Tensor& tensor, std::int64_t count);
Value method(const Value& object, const std::string& name, const std::vector<Value>& arguments);

// An index that may count from the end; raises IndexError.
std::int64_t place_in(std::int64_t index, std::int64_t size, std::string_view error);

}  // namespace deadrank::sim::program
