// sim/program/builtins_training.cpp — What torch.nn has for a step: losses, and the norm of gradients. Texts:
// torch 2.11.
#include <algorithm>
#include <fmt/format.h>

#include "sim/program/builtins.h"
#include "sim/program/program_number.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

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
        if (right < 0 || right >= classes)
            raise("IndexError", fmt::format("Target {} is out of bounds.", right));
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

std::vector<BuiltinRow> training_builtins() {
    return {{"one_hot", one_hot},
            {"mse_loss", mse_loss},
            {"cross_entropy", cross_entropy},
            {"clip_grad_norm_", clip_grad_norm},
            {"no_grad", no_grad}};
}

}  // namespace deadrank::sim::program
