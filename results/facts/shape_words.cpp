// results/facts/shape_words.cpp — One phrase of each message of PyTorch, NumPy, TensorFlow, JAX and the
// libraries of kernels, long enough that healthy logs do not hold it.
#include "results/facts/shape_words.h"

#include <algorithm>
#include <iterator>

namespace deadrank::results::detectors {

namespace {

constexpr std::string_view phrases_of_shapes[] = {
    "exceeds dimension size",
    "start out of range",
    "must match the size of tensor",
    "mat1 and mat2",
    "size mismatch",
    "shape mismatch",
    "is invalid for input of size",
    "expected scalar type",
    "output tensor size must be equal",
    "invalid tensor size",
    "Split sizes doesn't match",
    "doesn't match tensor",
    "must have the same type as input tensor",
    "must be the same size as output size times",
    "Mismatch in shape: grad_output",
    "Dimension out of range",
    "tuple index out of range",
    "to match target batch_size",
    "requires uniform dtype",
    "is out of bounds for dimension",
    "but got torch.Size(",
    "writeback when the parameter shape",
    "writeback when the gradient shape",
    "Sizes of tensors must match",
    "expects each tensor to be equal size",
    "expanded size of the tensor",
    "doesn't match the broadcast shape",
    "Expected size for first two dimensions",
    "Given groups=",
    "expected input with shape",
    "Kernel size can't be greater than actual input",
    "and weight type (",
    "to have one of the following scalar types",
    "can't be cast to the desired output type",
    "requires the source and destination dtypes match",
    "but expected Float",
    "same number of dimensions",
    "view size is not compatible with input tensor's size",
    "index out of range in self",
    "The shape of the mask",
    "tensor has no dimensions",
    "too many indices for tensor of dimension",
    "elements cannot be converted to Scalar",
    "does not divide equally across group size",
    "Number of tensor splits not equal",
    "Invalid usage of tensors with different dtypes",
    "must have the same number of elements",
    "Tensors must be of equal type",
    "must match number of collective participants",
    "Expected tensor to have size",
    "Expected target size",
    "ValueError: Using a target size",
    "target tensor expected, multi-target",
    "returned an invalid gradient at index",
    "Shape mismatch",
    "The shape of the 2D attn_mask",
    "Attempting to broadcast a dimension of length",
    "create tensor with negative dimension",
    "out of bounds for storage of size",
    "split_sizes to sum exactly to",
    "Expected hidden[",
    "operands do not broadcast",
    "could not be broadcast together",
    "dimensions except for the concatenation axis",
    "inhomogeneous shape",
    "expected sequence of length",
    "Incompatible shapes",
    "contracting dimensions to have the same shape",
    "Must flatten tensors with uniform dtype",
    "Expected object of scalar type",
    "inconsistent tensor size",
    // Transformer Engine, flash-attention, xformers, Apex, JAX and XLA, Triton. NumPy's "cannot reshape array
    // of size" is not among them: what it reshapes is often a mesh of devices.
    "tensor (shape=",
    "Unsupported tensor dimension",
    "Input and output shapes need to match",
    "have incompatible dimensions",
    "attempted to reshape dims=",
    "attempted to view dims=",
    "have the same dtype",
    "must have shape (",
    "must divide number of heads in query",
    "and bf16 data type",
    "fp8_e4m3 data type",
    "head_size should be a multiple of",
    "head_size that is a multiple of",
    "head dimension at most",
    "Invalid shape",
    "of elements along dimension",
    "tensor have the same sequence length",
    "Unsupported hidden_size or types",
    "dtype mismatch",
    "Size mismatch",
    "incompatible shape",
    "arguments to have the same dtypes",
    "that differ in dimensions other than the one",
    "implies that the global size of its dimension",
    "buffer with incompatible size",
    "must have identical types, got",
    "cannot reshape array of shape",
    "make_shape_compatible",
    "not compatible for matmul",
    "operands must be same dtype",
};

}  // namespace

bool tells_of_shapes(std::string_view text) {
    return std::any_of(std::begin(phrases_of_shapes), std::end(phrases_of_shapes),
                       [&](std::string_view words) { return text.find(words) != text.npos; });
}

std::span<const std::string_view> words_of_shapes() { return phrases_of_shapes; }

}  // namespace deadrank::results::detectors
