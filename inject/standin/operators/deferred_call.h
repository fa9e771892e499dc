// inject/standin/operators/deferred_call.h — A call that waits in its stream, as a kernel does. The host
// computes a call at once if the stream is idle. If it is busy, for instance with a collective that a peer
// has not joined, the host would have to wait: torch's all_gather of a list would then block inside the call,
// before its watchdog knows of it. Calls that write only into existing tensors, and cannot fail, are
// therefore left to the stream.
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <atomic>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <dlfcn.h>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace deadrank::inject::standin::operators {

class DeferredCall {
public:
    // What an operator does allows it. The arguments of a call are asked besides.
    static bool is_possible(const c10::OperatorHandle& op) {
        const std::string_view name = op.schema().name();
        for (const std::string_view one :
             {"aten::copy_", "aten::_foreach_copy_", "aten::zero_", "aten::fill_"}) {
            if (name == one) return true;
        }
        return name.back() == '_' && op.hasTag(at::Tag::pointwise) &&
               !op.hasTag(at::Tag::nondeterministic_seeded);
    }

    // Copies convert and all else must not, so that shapes and types alone show that the call cannot fail.
    static bool cannot_fail(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments) {
        const bool copies = op.schema().name() == "aten::copy_";
        if (op.schema().name() == "aten::_foreach_copy_") return lists_match(arguments);
        const at::Tensor* first = nullptr;
        for (const c10::IValue& value : arguments) {
            if (value.isList()) return false;
            if (!value.isTensor() || !value.toTensor().defined()) continue;
            const at::Tensor& tensor = value.toTensor();
            if (!first) first = &tensor;
            if (!is_plain(tensor) || tensor.sizes() != first->sizes()) return false;
            if (!copies && tensor.dtype() != first->dtype()) return false;
        }
        if (copies && arguments.size() > 2 && has_host(arguments))
            return arguments[2].toBool() && is_pinned(arguments);
        return first != nullptr && !has_host(arguments);
    }

    // `memory` keeps the device's memory alive until the call is done.
    static void enqueue(void* stream, const c10::OperatorHandle& op, c10::DispatchKey key,
                        torch::jit::Stack lowered, std::vector<c10::Storage> memory) {
        using Launch = int (*)(void*, void (*)(void*), void*);
        static const auto launch = reinterpret_cast<Launch>(dlsym(RTLD_DEFAULT, "cudaLaunchHostFunc"));
        auto call =
            std::make_unique<DeferredCall>(DeferredCall{op, key, std::move(lowered), std::move(memory)});
        launch(
            stream,
            [](void* data) { std::unique_ptr<DeferredCall>(static_cast<DeferredCall*>(data))->run(); },
            call.release());
    }

    // An error in a stream is raised by the next operator, as CUDA's asynchronous errors are.
    static void raise_failure() {
        if (!failed()) return;
        const std::lock_guard lock(failure_mutex());
        failed() = false;
        TORCH_CHECK(false, "deadrank: in a stream, ", failure());
    }

    // Runs work of a stream, which belongs to no call of the program.
    template <class Work>
    static void run_in_stream(const c10::OperatorHandle& op, Work work) {
        const at::AutoDispatchBelowADInplaceOrView below_autograd;
        const c10::impl::ExcludeDispatchKeyGuard without_autocast{c10::autocast_dispatch_keyset};
        try {
            work();
        } catch (const std::exception& error) {
            const std::lock_guard lock(failure_mutex());
            failure() = op.schema().name() + ": " + error.what();
            failed() = true;
        }
    }

    c10::OperatorHandle op;
    c10::DispatchKey key;
    torch::jit::Stack arguments;
    std::vector<c10::Storage> memory;

private:
    void run() {
        run_in_stream(op, [this] { op.redispatchBoxed(c10::DispatchKeySet(key), &arguments); });
    }
    static std::atomic<bool>& failed() {
        static std::atomic<bool> any{false};
        return any;
    }
    static std::mutex& failure_mutex() {
        static std::mutex& one = *new std::mutex;
        return one;
    }
    static std::string& failure() {
        static std::string& text = *new std::string;
        return text;
    }
    static bool is_plain(const at::Tensor& tensor) { return tensor.layout() == c10::kStrided; }
    static bool lists_match(c10::ArrayRef<c10::IValue> arguments) {
        const auto to = arguments[0].toTensorVector(), from = arguments[1].toTensorVector();
        if (to.size() != from.size()) return false;
        for (std::size_t i = 0; i < to.size(); ++i) {
            if (!is_plain(to[i]) || !is_plain(from[i]) || to[i].sizes() != from[i].sizes()) return false;
            if (!to[i].is_cuda() || !from[i].is_cuda()) return false;
        }
        return true;
    }
    static bool has_host(c10::ArrayRef<c10::IValue> arguments) {
        for (const c10::IValue& value : arguments) {
            if (value.isTensor() && value.toTensor().defined() && value.toTensor().is_cpu()) return true;
        }
        return false;
    }
    static bool is_pinned(c10::ArrayRef<c10::IValue> arguments) {
        for (const c10::IValue& value : arguments) {
            if (value.isTensor() && value.toTensor().is_cpu() && !value.toTensor().is_pinned()) return false;
        }
        return true;
    }
};

}  // namespace deadrank::inject::standin::operators
