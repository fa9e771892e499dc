// inject/standin/operators/operator_cost.h — What an operator costs in virtual time, by a roofline: the
// longer of its bytes by the memory's rate and its floating-point work by the peak. Shapes and types decide,
// never values.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <algorithm>
#include <array>
#include <c10/core/DeviceGuard.h>
#include <string_view>

#include "inject/standin/operators/torch_cuda.h"
#include "inject/standin/operators/virtual_device.h"

namespace deadrank::inject::standin::operators {

// What is known of an operator before it is called.
struct CostKind {
    enum class Work { none, product, convolution, convolution_backward, attention, attention_backward };
    Work work = Work::none;
    std::size_t operand = 0;  // whose last dimension a product sums over; a convolution's weight
    bool is_view = false;     // no kernel
    bool is_copy = false;
    bool waits = false;  // the host needs a value or a size of the result
};

inline CostKind cost_kind_of(const c10::OperatorHandle& op) {
    using Work = CostKind::Work;
    struct Row {
        std::string_view name;
        Work work;
        std::size_t operand;
    };
    static constexpr std::array<Row, 12> rows{{
        {"aten::mm", Work::product, 0},
        {"aten::bmm", Work::product, 0},
        {"aten::addmm", Work::product, 1},
        {"aten::addmm_", Work::product, 1},
        {"aten::baddbmm", Work::product, 1},
        {"aten::addmv", Work::product, 1},
        {"aten::_addmm_activation", Work::product, 1},
        {"aten::convolution", Work::convolution, 1},
        {"aten::_convolution", Work::convolution, 1},
        {"aten::convolution_backward", Work::convolution_backward, 2},
        {"aten::_scaled_dot_product_flash_attention_for_cpu", Work::attention, 0},
        {"aten::_scaled_dot_product_flash_attention_for_cpu_backward", Work::attention_backward, 1},
    }};
    static constexpr std::array<std::string_view, 9> data_dependent{
        "aten::nonzero",    "aten::masked_select",      "aten::_unique2",
        "aten::unique_dim", "aten::unique_consecutive", "aten::_local_scalar_dense",
        "aten::equal",      "aten::is_nonzero",         "aten::_assert_async"};
    CostKind kind;
    const c10::FunctionSchema& schema = op.schema();
    for (const Row& row : rows) {
        if (schema.name() != row.name) continue;
        kind.work = row.work;
        kind.operand = row.operand;
    }
    kind.is_copy = schema.name() == "aten::copy_";
    const auto& returns = schema.returns();
    kind.is_view = !returns.empty() && returns[0].alias_info() && !returns[0].alias_info()->isWrite();
    kind.waits =
        std::find(data_dependent.begin(), data_dependent.end(), schema.name()) != data_dependent.end();
    return kind;
}

// A copy between host and device for which the host waits.
inline bool copy_waits(c10::ArrayRef<c10::IValue> arguments) {
    const at::Tensor &to = arguments[0].toTensor(), &from = arguments[1].toTensor();
    const bool non_blocking = arguments.size() > 2 && arguments[2].isBool() && arguments[2].toBool();
    return (to.is_cpu() || from.is_cpu()) && !non_blocking;
}

class OperatorCost {
public:
    OperatorCost(const CostKind& kind, c10::ArrayRef<c10::IValue> arguments) : kind_(kind) {
        if (kind.is_view) return;
        for (const c10::IValue& value : arguments) add_bytes(value);
        count_work(arguments);
        if (kind.is_copy) look_at_copy(arguments);
    }

    void charge(c10::Device device, c10::ArrayRef<c10::IValue> results) {
        if (kind_.is_view) return;
        const VirtualDevice& time = VirtualDevice::instance();
        const deadrank_device_rates rates = time.rates(device.index());
        void* stream = current_stream(device);
        time.charge_host(rates.launch_ns);
        time.charge(stream, duration(rates, results));
        if (kind_.waits || waits_) time.synchronize(stream);
    }

    // Of the kernel alone, in ns.
    std::int64_t of_kernel(c10::Device device, c10::ArrayRef<c10::IValue> results) {
        return kind_.is_view ? 0 : duration(VirtualDevice::instance().rates(device.index()), results);
    }

private:
    void add_bytes(const c10::IValue& value) {
        if (value.isTensor()) {
            const at::Tensor& tensor = value.toTensor();
            if (!tensor.defined() || tensor.layout() != c10::kStrided) return;
            bytes_ += static_cast<double>(tensor.numel()) * static_cast<double>(tensor.element_size());
            half_ = half_ || tensor.element_size() == 2;
        } else if (value.isTensorList()) {
            for (const at::Tensor& tensor : value.toTensorList()) add_bytes(tensor);
        }
    }
    void count_work(c10::ArrayRef<c10::IValue> arguments) {
        using Work = CostKind::Work;
        if (kind_.work == Work::none) return;
        const at::Tensor& operand = arguments[kind_.operand].toTensor();
        const auto elements = static_cast<double>(operand.numel());
        switch (kind_.work) {
            case Work::product:
                per_result_ = 2.0 * static_cast<double>(operand.size(-1));
                break;
            case Work::convolution:
                per_result_ = 2.0 * elements / static_cast<double>(operand.size(0));
                break;
            case Work::convolution_backward:  // one product for the input, one for the weight
                flops_ = 4.0 * elements / static_cast<double>(operand.size(0)) *
                         static_cast<double>(arguments[0].toTensor().numel());
                break;
            case Work::attention:  // two products over the keys
                flops_ = 4.0 * elements * static_cast<double>(arguments[1].toTensor().size(-2));
                break;
            case Work::attention_backward:  // five
                flops_ = 10.0 * elements * static_cast<double>(arguments[2].toTensor().size(-2));
                break;
            case Work::none:
                break;
        }
    }
    void look_at_copy(c10::ArrayRef<c10::IValue> arguments) {
        const at::Tensor &to = arguments[0].toTensor(), &from = arguments[1].toTensor();
        crosses_host_ = to.is_cpu() || from.is_cpu();
        crosses_devices_ = !crosses_host_ && to.device() != from.device();
        waits_ = copy_waits(arguments);
        if (crosses_host_ || crosses_devices_) bytes_ /= 2;  // each byte passes the link once
    }
    std::int64_t duration(const deadrank_device_rates& rates, c10::ArrayRef<c10::IValue> results) {
        for (const c10::IValue& value : results) add_bytes(value);
        if (per_result_ > 0 && !results.empty() && results[0].isTensor() && results[0].toTensor().defined())
            flops_ += per_result_ * static_cast<double>(results[0].toTensor().numel());
        const double rate = crosses_host_      ? rates.host_bytes_per_second
                            : crosses_devices_ ? rates.peer_bytes_per_second
                                               : rates.bytes_per_second;
        const double seconds =
            std::max(bytes_ / rate, flops_ / (half_ ? rates.flops_half : rates.flops_single));
        return std::max(rates.shortest_kernel_ns, static_cast<std::int64_t>(seconds * 1e9));
    }

    const CostKind& kind_;
    double bytes_ = 0, flops_ = 0, per_result_ = 0;
    bool half_ = false, waits_ = false, crosses_host_ = false, crosses_devices_ = false;
};

}  // namespace deadrank::inject::standin::operators
