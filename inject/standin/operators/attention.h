// inject/standin/operators/attention.h — Scaled dot-product attention. Torch chooses among CUDA's fused
// kernels by a stub, not by the dispatcher, and the CPU has one fused kernel under another name. Each choice
// here is the one that the CPU makes, so that values are the CPU's: the fused kernel, or the product written
// out.
#pragma once

#include <ATen/native/transformers/attention.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include "inject/standin/operators/host_kernel.h"

namespace deadrank::inject::standin::operators {

using at::Tensor;
using Optional = std::optional<Tensor>;

// As torch counts: sdp::SDPBackend.
enum AttentionBackend : std::int64_t { math = 0, flash = 1, efficient = 2 };

inline const HostOperator& forward_on_host() {
    static const HostOperator op("aten::_scaled_dot_product_flash_attention_for_cpu");
    return op;
}
inline const HostOperator& backward_on_host() {
    static const HostOperator op("aten::_scaled_dot_product_flash_attention_for_cpu_backward");
    return op;
}

// A CPU tensor without memory. The choice goes by shape and type, and while torch.compile traces, tensors
// have no memory.
inline Tensor shape_of(const Tensor& tensor) {
    Tensor shape = at::detail::make_tensor<c10::TensorImpl>(
        c10::Storage(c10::Storage::use_byte_size_t(), 0, c10::DataPtr(nullptr, c10::kCPU), nullptr, false),
        c10::DispatchKeySet(c10::DispatchKey::CPU), tensor.dtype());
    shape.unsafeGetTensorImpl()->set_sizes_and_strides(tensor.sizes(), tensor.strides());
    return shape;
}

// CUDA's flash kernel takes no mask; its efficient kernel does.
inline std::int64_t choose_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                     const Optional& mask, double dropout, bool causal,
                                     std::optional<double> scale, bool grouped) {
    if (dropout > 0 || (mask && mask->requires_grad())) return math;
    const bool allowed =
        mask ? at::globalContext().userEnabledMemEfficientSDP() : at::globalContext().userEnabledFlashSDP();
    if (!allowed) return math;
    const std::int64_t fused = mask ? efficient : flash;
    for (const Tensor* tensor : {&query, &key, &value}) {
        if (tensor->unsafeGetTensorImpl()->has_symbolic_sizes_strides()) return fused;
    }
    static const c10::OperatorHandle op =
        c10::Dispatcher::singleton().findSchemaOrThrow("aten::_fused_sdp_choice", "");
    const Optional shape_of_mask = mask ? Optional(shape_of(*mask)) : std::nullopt;
    Stack stack{shape_of(query), shape_of(key), shape_of(value), shape_of_mask,
                dropout,         causal,        scale,           grouped};
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &stack);
    return stack[0].toInt() == flash ? fused : math;
}

inline Tensor no_seed(const Tensor& like) { return at::zeros({}, like.options().dtype(at::kLong)); }

using FlashResults =
    std::tuple<Tensor, Tensor, Tensor, Tensor, c10::SymInt, c10::SymInt, Tensor, Tensor, Tensor>;
inline FlashResults run_flash(const Tensor& query, const Tensor& key, const Tensor& value, double dropout,
                              bool causal, bool, std::optional<double> scale) {
    const Stack results = forward_on_host()({query, key, value, dropout, causal, c10::IValue(), scale});
    const Tensor seed = at::zeros({2}, query.options().dtype(at::kLong));
    return {results[0].toTensor(),
            results[1].toTensor(),
            Tensor(),
            Tensor(),
            query.sym_size(2),
            key.sym_size(2),
            seed,
            no_seed(query),
            Tensor()};
}
inline std::tuple<Tensor, Tensor, Tensor> run_flash_backward(
    const Tensor& gradient, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& output,
    const Tensor& log_sum, const Tensor&, const Tensor&, c10::SymInt, c10::SymInt, double dropout,
    bool causal, const Tensor&, const Tensor&, std::optional<double> scale) {
    const Stack results = backward_on_host()(
        {gradient, query, key, value, output, log_sum, dropout, causal, c10::IValue(), scale});
    return {results[0].toTensor(), results[1].toTensor(), results[2].toTensor()};
}

inline std::tuple<Tensor, Tensor, Tensor, Tensor> run_efficient(const Tensor& query, const Tensor& key,
                                                                const Tensor& value, const Optional& bias,
                                                                bool, double dropout, bool causal,
                                                                std::optional<double> scale) {
    const Stack results = forward_on_host()({query, key, value, dropout, causal, bias, scale});
    return {results[0].toTensor(), results[1].toTensor(), no_seed(query), no_seed(query)};
}
inline std::tuple<Tensor, Tensor, Tensor, Tensor> run_efficient_backward(
    const Tensor& gradient, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& bias,
    const Tensor& output, const Tensor& log_sum, const Tensor&, const Tensor&, double dropout,
    std::array<bool, 4> wanted, bool causal, std::optional<double> scale) {
    TORCH_CHECK_NOT_IMPLEMENTED(
        !wanted[3],
        "deadrank: efficient attention has no gradient of its mask on a simulated GPU. "
        "Use torch.nn.attention.sdpa_kernel(SDPBackend.MATH).");
    if (!gradient.defined()) return {};
    const Stack results = backward_on_host()({gradient, query, key, value, output, log_sum, dropout, causal,
                                              bias.defined() ? c10::IValue(bias) : c10::IValue(), scale});
    return {results[0].toTensor(), results[1].toTensor(), results[2].toTensor(), Tensor()};
}

inline void install_attention(torch::Library& library) {
    at::native::_fused_sdp_choice_stub.set_cuda_dispatch_ptr(&choose_attention);
    library.impl("_fused_sdp_choice", &choose_attention);
    library.impl("_scaled_dot_product_flash_attention", &run_flash);
    library.impl("_scaled_dot_product_flash_attention_backward", &run_flash_backward);
    library.impl("_scaled_dot_product_efficient_attention", &run_efficient);
    library.impl("_scaled_dot_product_efficient_attention_backward", &run_efficient_backward);
}

}  // namespace deadrank::inject::standin::operators
