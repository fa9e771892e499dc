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
#include "inject/standin/operators/graph_capture.h"
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

// While it lives, a random operator draws the numbers of its device. A call that is captured draws numbers
// that nobody sees, and leaves the generators as they are.
class DeviceNumbers {
public:
    DeviceNumbers(const OperatorFacts& facts, Stack& stack, std::size_t begin, c10::Device device,
                  bool captured) {
        if (!facts.random) return;
        c10::IValue none,
            &given = facts.generator < 0 ? none : stack[begin + static_cast<std::size_t>(facts.generator)];
        const auto seed_of = [&](auto generator) { return captured ? 0 : next_seed(generator()); };
        if (given.isGenerator()) {
            if (given.toGenerator().device().is_cuda())
                given = seeded_generator(seed_of([&] { return given.toGenerator(); }));
        } else if (captured || !draws_from_cpu()) {
            const std::uint64_t seed = seed_of([&] { return at::globalContext().defaultGenerator(device); });
            if (facts.generator < 0)
                loan_.emplace(seed);
            else
                given = seeded_generator(seed);
        }
    }

private:
    std::optional<DefaultGeneratorOnLoan> loan_;
};

// Runs the CPU kernel over lowered arguments, which are the stack from `begin` on. Results take their place.
inline void compute_on_host(HostCall& call, const c10::OperatorHandle& op, const OperatorFacts& facts,
                            c10::DispatchKey key, Stack& stack, std::size_t begin, bool captured) {
    const c10::impl::VirtualGuardImpl guard(c10::kCUDA);
    if (!call.device || !call.device->has_index()) call.device = guard.getDevice();
    const c10::DeviceGuard on_device(*call.device);
    // Work that was enqueued before this call comes first. In virtual time it is done already, and a captured
    // stream has none.
    if (!VirtualDevice::instance().in_use() && !captured) {
        guard.synchronizeStream(guard.getStream(*call.device));
        for (const c10::Device other : call.others) guard.synchronizeStream(guard.getStream(other));
    }
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const c10::impl::ExcludeDispatchKeyGuard without_autocast{c10::autocast_dispatch_keyset};
    {
        const DeviceNumbers numbers(facts, stack, begin, *call.device, captured);
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

// The device to which a call belongs: that of its first cuda tensor, or the current one.
inline c10::Device device_of(c10::ArrayRef<c10::IValue> arguments) {
    for (const at::Tensor& tensor : tensors_of(arguments)) {
        if (tensor.defined() && tensor.is_cuda()) return tensor.device();
    }
    return c10::impl::VirtualGuardImpl(c10::kCUDA).getDevice();
}

// A call of a CUDA graph.
class CapturedCall {
public:
    // Null where the stream of the call is not captured. A call for which the host waits is refused by the
    // stream, in torch's words, and spoils the capture.
    static std::unique_ptr<CapturedCall> of(const c10::OperatorHandle& op, const OperatorFacts& facts,
                                            c10::DispatchKey key, c10::ArrayRef<c10::IValue> arguments) {
        if (!GraphCapture::instance().any()) return nullptr;
        const c10::Device device = device_of(arguments);
        void* stream = current_stream(device);
        if (!GraphCapture::instance().has(stream)) return nullptr;
        if (facts.cost.waits || (facts.cost.is_copy && copy_waits(arguments))) {
            const c10::impl::VirtualGuardImpl guard(c10::kCUDA);
            guard.synchronizeStream(guard.getStream(device));
        }
        return std::unique_ptr<CapturedCall>(new CapturedCall(op, facts, key, device, stream));
    }

    // `stack` from `begin` on: lowered arguments.
    void take(const Stack& stack, std::size_t begin) {
        arguments_.assign(stack.begin() + static_cast<std::ptrdiff_t>(begin), stack.end());
        for (std::size_t i = 0; i < arguments_.size(); ++i) {
            if (!writes_into(op_.schema(), i)) continue;
            for (const at::Tensor& tensor : tensors_of(c10::ArrayRef<c10::IValue>(arguments_[i])))
                OverwrittenMemory::instance().save(stream_, tensor);
        }
    }

    // The call is over. It is a step of a graph, or else (null) its cost is due now, where time is virtual.
    static void finish(std::unique_ptr<CapturedCall> call, c10::ArrayRef<c10::IValue> results,
                       std::optional<OperatorCost>& cost, c10::Device device) {
        if (!call) {
            if (cost) cost->charge(device, results);
            return;
        }
        for (const at::Tensor& tensor : tensors_of(results)) {
            TORCH_CHECK_NOT_IMPLEMENTED(
                !tensor.defined() || tensor.layout() == c10::kStrided,
                "deadrank: sparse tensors cannot be captured into a CUDA graph of a simulated GPU. ",
                "Compute them outside the graph.");
            call->places_.push_back(tensor.defined() ? place_of(tensor) : tensor);
        }
        const std::int64_t ns = cost ? cost->of_kernel(call->device_, results) : 0;
        void* stream = call->stream_;
        GraphCapture::instance().add(stream, std::move(call), ns);
    }

    void play() const {
        DeferredCall::run_in_stream(op_, [this] {
            Stack stack = arguments_;
            const Conversion conversion(facts_, stack, 0);
            {
                const DeviceNumbers numbers(facts_, stack, 0, device_, false);
                op_.redispatchBoxed(c10::DispatchKeySet(key_), &stack);
            }
            conversion.finish(stack);
            const std::vector<at::Tensor> results = tensors_of(stack);
            for (std::size_t i = 0; i < results.size(); ++i) {
                if (results[i].defined() && results[i].data_ptr() != places_[i].data_ptr())
                    places_[i].copy_(results[i]);
            }
        });
    }

private:
    CapturedCall(const c10::OperatorHandle& op, const OperatorFacts& facts, c10::DispatchKey key,
                 c10::Device device, void* stream)
        : op_(op), facts_(facts), key_(key), device_(device), stream_(stream) {}

    c10::OperatorHandle op_;
    const OperatorFacts& facts_;  // of a kernel, which lives as long as the process
    c10::DispatchKey key_;
    c10::Device device_;
    void* stream_;
    Stack arguments_;
    std::vector<at::Tensor> places_;
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
        std::unique_ptr<CapturedCall> captured = CapturedCall::of(op, facts_, key_, all.slice(begin));
        const bool defers = facts_.deferrable && !cost && !captured && is_busy(all.slice(begin)) &&
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
        if (captured) captured->take(*stack, begin);
        const Conversion conversion(facts_, *stack, begin);
        compute_on_host(call, op, facts_, key_, *stack, begin, captured != nullptr);
        conversion.finish(*stack);
        CapturedCall::finish(std::move(captured), c10::ArrayRef<c10::IValue>(*stack).slice(begin), cost,
                             *call.device);
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
        std::unique_ptr<CapturedCall> captured = CapturedCall::of(op_, facts_, c10::DispatchKey::CPU, stack);
        for (c10::IValue& value : stack) value = call.lower(value);
        if (captured) captured->take(stack, 0);
        compute_on_host(call, op_, facts_, c10::DispatchKey::CPU, stack, 0, captured != nullptr);
        CapturedCall::finish(std::move(captured), stack, cost, *call.device);
        return stack;
    }

private:
    c10::OperatorHandle op_;
    OperatorFacts facts_;
};

}  // namespace deadrank::inject::standin::operators
