// inject/standin/operators/host_kernel.h — The kernel that takes the place of a CUDA kernel: it lowers the
// arguments, calls torch's CPU kernel of the same operator, and raises the results.
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <string>

#include "inject/standin/operators/deferred_call.h"
#include "inject/standin/operators/device_check.h"
#include "inject/standin/operators/host_call.h"
#include "inject/standin/operators/host_generator.h"
#include "inject/standin/operators/operator_cost.h"
#include "inject/standin/operators/torch_cuda.h"

namespace deadrank::inject::standin::operators {

using Stack = torch::jit::Stack;

// What is known of an operator before it is called, so that a call need not look it up.
struct OperatorFacts {
    Mixing mixing;
    bool random;
    int generator = -1;  // place of the generator among the arguments; -1: none
    int widens = -1;     // of half_to_float, with which CUDA's softmax also converts
    int narrows = -1;    // of input_dtype, to which CUDA's gradient of a softmax is converted
    bool deferrable;
    CostKind cost;

    explicit OperatorFacts(const c10::OperatorHandle& op)
        : mixing(mixing_of(op.schema().name())),
          random(op.hasTag(at::Tag::nondeterministic_seeded)),
          deferrable(DeferredCall::is_possible(op)),
          cost(cost_kind_of(op)) {
        const auto& arguments = op.schema().arguments();
        for (std::size_t i = 0; i < arguments.size(); ++i) {
            if (arguments[i].type()->str().rfind("Generator", 0) == 0) generator = static_cast<int>(i);
            if (arguments[i].name() == "half_to_float") widens = static_cast<int>(i);
            if (arguments[i].name() == "input_dtype") narrows = static_cast<int>(i);
        }
    }
};

// Runs the CPU kernel over lowered arguments, which are the stack from `begin` on. Results take their place.
inline void compute_on_host(HostCall& call, const c10::OperatorHandle& op, const OperatorFacts& facts,
                            c10::DispatchKey key, Stack& stack, std::size_t begin) {
    const c10::impl::VirtualGuardImpl guard(c10::kCUDA);
    if (!call.device || !call.device->has_index()) call.device = guard.getDevice();
    const c10::DeviceGuard on_device(*call.device);
    // Work that was enqueued before this call comes first. In virtual time it is done already.
    if (!VirtualDevice::instance().in_use()) {
        guard.synchronizeStream(guard.getStream(*call.device));
        for (const c10::Device other : call.others) guard.synchronizeStream(guard.getStream(other));
    }
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const c10::impl::ExcludeDispatchKeyGuard without_autocast{c10::autocast_dispatch_keyset};
    std::optional<DefaultGeneratorOnLoan> loan;
    if (facts.random) {
        c10::IValue none,
            &given = facts.generator < 0 ? none : stack[begin + static_cast<std::size_t>(facts.generator)];
        if (given.isGenerator()) {
            if (given.toGenerator().device().is_cuda())
                given = seeded_generator(next_seed(given.toGenerator()));
        } else if (!draws_from_cpu()) {
            const std::uint64_t seed = next_seed(at::globalContext().defaultGenerator(*call.device));
            if (facts.generator < 0)
                loan.emplace(seed);
            else
                given = seeded_generator(seed);
        }
    }
    {
        const LendingAllocator::Loan lending;
        op.redispatchBoxed(c10::DispatchKeySet(key), &stack);
    }
    call.write_back();
    for (std::size_t i = begin; i < stack.size(); ++i) stack[i] = call.raise(stack[i]);
}

// CUDA's softmax of half precision can give float, and its gradient takes float and gives half. The CPU's
// kernels refuse both: the input is converted before, and the gradient after.
class Conversion {
public:
    Conversion(const OperatorFacts& facts, Stack& stack, std::size_t begin) : begin_(begin) {
        if (facts.widens >= 0) {
            c10::IValue& wanted = stack[begin + static_cast<std::size_t>(facts.widens)];
            if (wanted.toBool()) stack[begin] = convert(stack[begin].toTensor(), at::kFloat);
            wanted = false;
        }
        if (facts.narrows >= 0) {
            c10::IValue& wanted = stack[begin + static_cast<std::size_t>(facts.narrows)];
            const at::ScalarType given = stack[begin].toTensor().scalar_type();
            if (wanted.isInt() && wanted.toScalarType() != given) result_ = wanted.toScalarType();
            wanted = given;
        }
    }

    void finish(Stack& stack) const {
        if (result_) stack[begin_] = convert(stack[begin_].toTensor(), *result_);
    }

private:
    static at::Tensor convert(const at::Tensor& tensor, at::ScalarType type) {
        const at::AutoDispatchBelowADInplaceOrView below_autograd;
        return tensor.to(type);
    }

    std::size_t begin_;
    std::optional<at::ScalarType> result_;
};

class HostKernel final : public c10::OperatorKernel {
public:
    HostKernel(const c10::OperatorHandle& op, c10::DispatchKey key) : facts_(op), key_(key) {}

    void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, Stack* stack) const {
        const std::size_t begin = stack->size() - op.schema().arguments().size();
        const c10::ArrayRef<c10::IValue> all(*stack);
        std::optional<OperatorCost> cost;
        if (VirtualDevice::instance().in_use()) cost.emplace(facts_.cost, all.slice(begin));
        HostCall call;
        DeviceCheck check(op, facts_.mixing);
        DeferredCall::raise_failure();
        const bool defers = facts_.deferrable && !cost && is_busy(all.slice(begin)) &&
                            DeferredCall::cannot_fail(op, all.slice(begin));
        const c10::IValue self = defers ? all[begin] : c10::IValue();
        for (std::size_t i = begin; i < stack->size(); ++i) {
            c10::IValue& value = (*stack)[i];
            if (!value.isTensor() && !value.isList() && !value.isDevice()) continue;
            check.see(i - begin, value);
            value = call.lower(value);
        }
        if (defers && call.others.empty()) {
            Stack lowered(stack->begin() + static_cast<std::ptrdiff_t>(begin), stack->end());
            stack->resize(begin);
            if (!op.schema().returns().empty()) stack->push_back(self);
            DeferredCall::enqueue(current_stream(*call.device), op, key_, std::move(lowered), call.memory());
            return;
        }
        const Conversion conversion(facts_, *stack, begin);
        compute_on_host(call, op, facts_, key_, *stack, begin);
        conversion.finish(*stack);
        if (cost) cost->charge(*call.device, c10::ArrayRef<c10::IValue>(*stack).slice(begin));
    }

private:
    // Whether the stream that the call belongs to has work that is not done.
    static bool is_busy(c10::ArrayRef<c10::IValue> arguments) {
        const c10::impl::VirtualGuardImpl guard(c10::kCUDA);
        for (const c10::IValue& value : arguments) {
            const bool is_list = value.isTensorList() && !value.toTensorList().empty();
            if (!value.isTensor() && !is_list) continue;
            const at::Tensor tensor = is_list ? value.toTensorList().get(0) : value.toTensor();
            if (tensor.defined() && tensor.is_cuda())
                return !guard.queryStream(guard.getStream(tensor.device()));
        }
        return false;
    }

    OperatorFacts facts_;
    c10::DispatchKey key_;  // CPU, SparseCPU or SparseCsrCPU
};

// For an operator that has no CPU kernel. The CUDA kernel would compute nothing here.
class RefusedKernel final : public c10::OperatorKernel {
public:
    explicit RefusedKernel(std::string advice) : advice_(std::move(advice)) {}

    void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, Stack*) const {
        const std::string& overload = op.schema().overload_name();
        TORCH_CHECK_NOT_IMPLEMENTED(false, "deadrank: ", op.schema().name(), overload.empty() ? "" : ".",
                                    overload, " has no CPU kernel, so it cannot run on a simulated GPU. ",
                                    advice_);
    }

private:
    std::string advice_;
};

// Another operator on the host, for the kernels that are written by hand.
class HostOperator {
public:
    explicit HostOperator(const char* name, const char* overload = "")
        : op_(c10::Dispatcher::singleton().findSchemaOrThrow(name, overload)), facts_(op_) {}

    Stack operator()(Stack stack) const {
        HostCall call;
        std::optional<OperatorCost> cost;
        if (VirtualDevice::instance().in_use()) cost.emplace(facts_.cost, stack);
        for (c10::IValue& value : stack) value = call.lower(value);
        compute_on_host(call, op_, facts_, c10::DispatchKey::CPU, stack, 0);
        if (cost) cost->charge(*call.device, stack);
        return stack;
    }

private:
    c10::OperatorHandle op_;
    OperatorFacts facts_;
};

}  // namespace deadrank::inject::standin::operators
