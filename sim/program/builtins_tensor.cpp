// sim/program/builtins_tensor.cpp — Functions that make tensors, and what torch.nn has for a step: losses,
// and the norm of gradients. Texts: torch 2.11.
#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "sim/program/builtins.h"
#include "sim/program/program_number.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

namespace {

Dtype stated_dtype(const Value& word, Dtype otherwise) {
    return word.is(Type::unset) || word.is(Type::none) ? otherwise : dtype_of(word);
}

// `where`: the device that the call states, if any.
Value filled(Interpreter& rank, std::shared_ptr<Tensor> made, const Value& where, const Value& value) {
    rank.spend(made->count());
    lay(rank, *made, where);
    if (!value.is(Type::unset)) assign(*made, value);
    return Value::of(std::move(made));
}

// What lay in memory: small numbers that no other rank has.
void fill_unwritten(Interpreter& rank, Tensor& made) {
    constexpr std::uint64_t spread = 1 << 12;
    for (Number& element : made.data()) {
        const auto drawn = rank.world().chance("program.empty", rank.garbage_drawn++, spread);
        element =
            converted(static_cast<Number>(drawn) - static_cast<Number>(spread / 2), Dtype::i64, made.dtype);
    }
    made.flush();
}

Value new_from(Interpreter& rank, Arguments& given) {
    if (given[0].is(Type::function) || given[0].is(Type::object))
        raise("RuntimeError", fmt::format("Could not infer dtype of {}", type_word(given[0])));
    auto made = tensor_from(given[0], stated_dtype(given[1], Dtype::none));
    if (given[0].is(Type::tensor) && !stated(given[2])) return rank.spend(made->count()), Value::of(made);
    return filled(rank, std::move(made), given[2], {});
}
Value zeros(Interpreter& rank, Arguments& given) {
    return filled(rank, new_tensor(stated_dtype(given[1], Dtype::f32), shape_from(given[0])), given[2], {});
}
Value ones(Interpreter& rank, Arguments& given) {
    return filled(rank, new_tensor(stated_dtype(given[1], Dtype::f32), shape_from(given[0])), given[2],
                  Value::whole(1));
}
Value empty(Interpreter& rank, Arguments& given) {
    auto made = new_tensor(stated_dtype(given[1], Dtype::f32), shape_from(given[0]));
    fill_unwritten(rank, *made);
    return filled(rank, std::move(made), given[2], {});
}
Value full(Interpreter& rank, Arguments& given) {
    const Value size = given[0].is(Type::list) ? given[0] : Value::new_list({given[0]});
    const Dtype usual = given[1].is(Type::decimal) ? Dtype::f32 : Dtype::i64;
    return filled(rank, new_tensor(stated_dtype(given[2], usual), shape_from(size)), given[3], given[1]);
}
Value arange(Interpreter& rank, Arguments& given) {
    const auto& ends = given[0].list().items;
    if (ends.empty() || ends.size() > 3) raise("TypeError", "arange() takes one to three numbers");
    const auto end = [&](std::size_t i) { return as_whole(ends[i], "an end"); };
    const std::int64_t first = ends.size() > 1 ? end(0) : 0, last = end(ends.size() > 1 ? 1 : 0);
    const std::int64_t by = ends.size() > 2 ? end(2) : 1;
    if (by == 0) raise("RuntimeError", "step must be nonzero");
    if (by > 0 ? last < first : last > first)
        raise("RuntimeError", "upper bound and larger bound inconsistent with step sign");
    const Wide count = (Wide{last} - first + by - (by > 0 ? 1 : -1)) / by;
    auto made = new_tensor(Dtype::i64, {saturate(count)});
    std::int64_t next = first;
    for (Number& element : made->data()) element = std::exchange(next, next + by);
    const Dtype dtype = stated_dtype(given[1], Dtype::i64);
    return filled(rank, dtype == Dtype::i64 ? made : cast(*made, dtype), given[2], {});
}
Value eye(Interpreter& rank, Arguments& given) {
    const std::int64_t size = as_whole(given[0], "n");
    auto made = new_tensor(Dtype::f32, {size, size});
    for (std::int64_t i = 0; i < size; ++i) made->data()[static_cast<std::size_t>(i * size + i)] = one;
    return filled(rank, std::move(made), given[1], {});
}
// Of another one's shape, and where that one lies unless a device is stated.
std::shared_ptr<Tensor> alike(Interpreter& rank, const Value& other, std::string_view call,
                              const Value& dtype, const Value& where) {
    const auto like = tensor_in(other, call, "tensor");
    auto made = new_tensor(stated_dtype(dtype, like->dtype), like->shape, like->place);
    if (stated(where)) made->place = place_for(rank, where);
    rank.spend(made->count());
    return in_order_of(*like, made);
}

Value zeros_like(Interpreter& rank, Arguments& given) {
    return Value::of(alike(rank, given[0], "zeros_like", given[1], given[2]));
}
Value ones_like(Interpreter& rank, Arguments& given) {
    const auto made = alike(rank, given[0], "ones_like", given[1], given[2]);
    assign(*made, Value::whole(1));
    return Value::of(made);
}
Value full_like(Interpreter& rank, Arguments& given) {
    const auto made = alike(rank, given[0], "full_like", {}, given[2]);
    assign(*made, given[1]);
    return Value::of(made);
}
Value empty_like(Interpreter& rank, Arguments& given) {
    const auto made = alike(rank, given[0], "empty_like", {}, given[1]);
    fill_unwritten(rank, *made);
    return Value::of(made);
}
Value where(Interpreter&, Arguments& given) { return chosen(given[0], given[1], given[2]); }
Value cat(Interpreter& rank, Arguments& given) {
    const Value made = joined(items_of(given[0]), given[1].is(Type::unset) ? 0 : as_whole(given[1], "dim"));
    rank.spend(made.tensor().count());
    return made;
}
Value stack(Interpreter& rank, Arguments& given) {
    const Value made = stacked(items_of(given[0]), given[1].is(Type::unset) ? 0 : as_whole(given[1], "dim"));
    rank.spend(made.tensor().count());
    return made;
}

}  // namespace

std::vector<BuiltinRow> tensor_builtins() {
    return {{"tensor", new_from},
            {"zeros", zeros},
            {"ones", ones},
            {"empty", empty},
            {"full", full},
            {"arange", arange},
            {"zeros_like", zeros_like},
            {"empty_like", empty_like},
            {"cat", cat},
            {"stack", stack},
            {"ones_like", ones_like},
            {"full_like", full_like},
            {"eye", eye},
            {"where", where}};
}

using scenarios::program::Operator;

namespace {

// A row for each element, in one more dimension.
Value one_hot(Interpreter& rank, Arguments& given) {
    const auto tensor = tensor_in(given[0], "one_hot", "tensor");
    if (tensor->dtype != Dtype::i64)
        raise("RuntimeError", "one_hot is only applicable to index tensor of type LongTensor.");
    std::int64_t classes = stated(given[1]) ? as_whole(given[1], "num_classes") : -1;
    std::int64_t most = -1;
    for (const Number element : tensor->data()) {
        if (element < 0) raise("RuntimeError", "Class values must be non-negative.");
        most = std::max(most, element);
    }
    if (classes == -1 && most < 0)
        raise("RuntimeError", "Can not infer total number of classes from empty tensor.");
    if (classes == -1) classes = std::min(most, most_elements) + 1;
    if (classes < 1) raise("RuntimeError", "num_classes should be positive");
    if (most >= classes) raise("RuntimeError", "Class values must be smaller than num_classes.");
    Shape shape = tensor->shape;
    shape.push_back(classes);
    const auto made = new_tensor(Dtype::i64, std::move(shape), tensor->place);
    rank.spend(made->count());
    for (std::int64_t i = 0; i < tensor->count(); ++i)
        made->data()[static_cast<std::size_t>(i * classes + tensor->data()[static_cast<std::size_t>(i)])] = 1;
    return Value::of(made);
}

Value mse_loss(Interpreter& rank, Arguments& given) {
    const auto input = tensor_in(given[0], "mse_loss", "input");
    const auto target = tensor_in(given[1], "mse_loss", "target");
    if (input->shape != target->shape)
        raise("ValueError", fmt::format("mse_loss() takes two tensors of one size here, not {} and {}",
                                        shape_text(input->shape), shape_text(target->shape)));
    rank.spend(input->count());
    const Value apart = calculated(Operator::subtract, given[0], given[1]);
    return method(calculated(Operator::multiply, apart, apart), "mean", {});
}

// Of rows of scores, or of one; the mean.
Value cross_entropy(Interpreter& rank, Arguments& given) {
    const auto input = tensor_in(given[0], "cross_entropy", "input");
    const auto target = tensor_in(given[1], "cross_entropy", "target");
    const bool one_row = input->shape.size() == 1;
    if (input->shape.empty() || input->shape.size() > 2 || target->shape.size() + 1 != input->shape.size())
        raise("RuntimeError", "cross_entropy() takes rows of scores and a whole number for each here");
    if (target->dtype != Dtype::i64) raise("RuntimeError", "expected scalar type Long but found another one");
    const std::int64_t classes = input->shape.back(), rows = one_row ? 1 : input->shape.front();
    if (target->count() != rows)
        raise("ValueError", fmt::format("Expected input batch_size ({}) to match target batch_size ({}).",
                                        rows, target->count()));
    rank.spend(input->count());
    const std::int64_t ignored = stated(given[2]) ? as_whole(given[2], "ignore_index") : -100;
    const auto targets = target->data();
    const std::int64_t counted = rows - std::count(targets.begin(), targets.end(), ignored);
    const Value scores = method(given[0], "log_softmax", {Value::whole(-1)});
    const auto picked_ones = new_tensor(scores.tensor().dtype, {counted}, input->place);
    std::size_t place = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
        const Number right = targets[static_cast<std::size_t>(row)];
        if (right == ignored) continue;
        if (right < 0 || right >= classes) {
            if (input->place < 0) raise("IndexError", fmt::format("Target {} is out of bounds.", right));
            rank.stop(Kernel::nll_loss);
            continue;
        }
        const Number score = scores.tensor().data()[static_cast<std::size_t>(row * classes + right)];
        picked_ones->data()[place++] = is_special(score) ? score : -score;
    }
    return method(Value::of(picked_ones), "mean", {});
}

// Of a tensor, or of what has a gradient behind its dot.
std::vector<Value> gradients_of(Interpreter& rank, const Value& parameters) {
    const bool one_tensor = parameters.is(Type::tensor);
    std::vector<Value> found;
    for (const Value& parameter : one_tensor ? std::vector<Value>{parameters} : items_of(parameters)) {
        const auto gradient = rank.attribute(parameter, "grad");
        if (!gradient)
            raise("AttributeError", fmt::format("{} object has no attribute 'grad'", type_word(parameter)));
        if (!gradient->is(Type::none)) found.push_back(*gradient);
    }
    return found;
}

Value clip_grad_norm(Interpreter& rank, Arguments& given) {
    const std::vector<Value> gradients = gradients_of(rank, given[0]);
    if (!given[1].is_number()) raise("TypeError", "max_norm must be a number");
    Number sum = 0;
    for (const Value& gradient : gradients) {
        rank.spend(tensor_in(gradient, "clip_grad_norm_", "grad")->count());
        const auto decimals = cast(gradient.tensor(), Dtype::f64);
        for (const Number element : decimals->data())
            sum = plus_any(sum, elementwise(Operator::multiply, element, element, true));
    }
    const Number norm = square_root(sum), most = as_decimal(given[1]);
    if (norm == not_a_number || norm > most) {  // as torch has it, nan makes all of them nan
        const Value scale = Value::decimal(elementwise(Operator::divide, most, norm, true));
        for (const Value& gradient : gradients) method(gradient, "mul_", {scale});
    }
    return Value::decimal(norm);
}

Value no_grad(Interpreter&, Arguments&) {
    auto made = std::make_shared<Instance>();
    made->kind = context_kind;
    made->name = "no_grad";
    return Value::of(std::move(made));
}

}  // namespace

// An index out of range on a device: the kernel stops, and the process learns of it where it reaches the
// device next.
namespace {

std::string_view line_of(Kernel kernel) {
    switch (kernel) {
        case Kernel::nll_loss:
            return "Loss.cu:245: nll_loss_forward_reduce_cuda_kernel_2d: block: [0,0,0], thread: [0,0,0] "
                   "Assertion `t >= 0 && t < n_classes` failed.";
        case Kernel::index_select:
            return "Indexing.cu:1553: indexSelectLargeIndex: block: [0,0,0], thread: [0,0,0] Assertion "
                   "`srcIndex < srcSelectDimSize` failed.";
        case Kernel::gather:
            return "ScatterGatherKernel.cu:153: operator(): block: [0,0,0], thread: [0,0,0] Assertion "
                   "`idx_dim >= 0 && idx_dim < index_size && \"index out of bounds\"` failed.";
        default:
            return "IndexKernel.cu:94: operator(): block: [0,0,0], thread: [0,0,0] Assertion `-sizes[i] <= "
                   "index && index < sizes[i] && \"index out of bounds\"` failed.";
    }
}

}  // namespace

void Interpreter::tell_assert() {
    if (!std::exchange(assert_told_, true))
        world().log(fmt::format("/pytorch/aten/src/ATen/native/cuda/{}", line_of(asserted_)), 1);
    throw RankFailure(
        "torch.AcceleratorError: CUDA error: device-side assert triggered\nCUDA kernel errors might be "
        "asynchronously reported at some other API call, so the stacktrace below might be incorrect.\nFor "
        "debugging consider passing CUDA_LAUNCH_BLOCKING=1\nCompile with `TORCH_USE_CUDA_DSA` to enable "
        "device-side assertions.");
}

std::vector<BuiltinRow> training_builtins() {
    return {{"one_hot", one_hot},
            {"mse_loss", mse_loss},
            {"cross_entropy", cross_entropy},
            {"clip_grad_norm_", clip_grad_norm},
            {"no_grad", no_grad}};
}

}  // namespace deadrank::sim::program
