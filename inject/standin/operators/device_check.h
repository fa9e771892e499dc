// inject/standin/operators/device_check.h — Tensors of several devices in one call. CPU kernels would accept
// them, since all memory is the host's. A GPU refuses them, and so does this file, in torch's own words.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/op_registration/adaption.h>
#include <optional>
#include <string>
#include <string_view>

namespace deadrank::inject::standin::operators {

// Which devices an operator accepts together.
enum class Mixing {
    refused,    // one device, and CPU tensors without dimensions
    of_copies,  // any: the operator copies between devices
    of_indices  // indices may be on the CPU; all else is on the first argument's device
};

inline Mixing mixing_of(std::string_view name) {
    for (const std::string_view copies : {"aten::copy_", "aten::_foreach_copy_", "aten::_copy_from"}) {
        if (name == copies) return Mixing::of_copies;
    }
    for (const std::string_view indexed :
         {"aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_",
          "aten::_unsafe_index", "aten::_unsafe_index_put"}) {
        if (name == indexed) return Mixing::of_indices;
    }
    return Mixing::refused;
}

// The check of one call. Arguments are shown in the order of the schema.
class DeviceCheck {
public:
    DeviceCheck(const c10::OperatorHandle& op, Mixing mixing) : op_(op), mixing_(mixing) {}

    void see(std::size_t argument, const c10::IValue& value) {
        if (value.isTensor()) {
            see(argument, value.toTensor());
        } else if (value.isTensorList()) {
            for (const at::Tensor& tensor : value.toTensorList()) see(argument, tensor);
        } else if (value.isOptionalTensorList()) {
            const auto list = value.toOptionalTensorList();
            for (std::size_t i = 0; i < list.size(); ++i) {
                if (const std::optional<at::Tensor> tensor = list.get(i)) see_index(*tensor);
            }
        }
    }

private:
    void see(std::size_t argument, const at::Tensor& tensor) {
        if (!tensor.defined()) return;
        const c10::Device device = tensor.device();
        const bool first_is_indexed = mixing_ == Mixing::of_indices && argument == 0;
        if (device.is_cpu() && tensor.dim() == 0 && !first_is_indexed) return;
        if (!common_) common_ = device;
        if (device != *common_ && mixing_ != Mixing::of_copies) refuse(argument, tensor);
    }
    void see_index(const at::Tensor& index) {
        TORCH_CHECK(!index.defined() || index.device().is_cpu() || index.device() == *common_,
                    "indices should be either on cpu or on the same device as the indexed tensor (", *common_,
                    ")");
    }
    // TensorIterator has one text, and torch's generated wrappers another. The wrapper of an operator with a
    // structured kernel has a name without its overload.
    [[noreturn]] void refuse(std::size_t argument, const at::Tensor& tensor) const {
        const bool first_is_host = common_->is_cpu();
        TORCH_CHECK(!op_.hasTag(at::Tag::pointwise),
                    "Expected all tensors to be on the same device, but found at least two devices, ",
                    first_is_host ? tensor.device() : *common_, " and ",
                    first_is_host ? *common_ : tensor.device(), "!");
        const c10::FunctionSchema& schema = op_.schema();
        const std::string name = schema.name().substr(schema.name().find("::") + 2);
        const bool structured =
            op_.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutogradNonFunctional);
        const std::string method =
            "wrapper_CUDA_" + (structured ? name : schema.overload_name() + "_" + name);
        c10::impl::common_device_check_failure(*common_, tensor, method.c_str(),
                                               schema.arguments()[argument].name().c_str());
        TORCH_INTERNAL_ASSERT(false, "unreachable");
    }

    const c10::OperatorHandle& op_;
    Mixing mixing_;
    std::optional<c10::Device> common_;
};

}  // namespace deadrank::inject::standin::operators
