// inject/standin/operators/graph_capture.h — Operators while their stream is captured into a CUDA graph. A capture must
// change nothing that the program sees, but its results must have memory. So the operator runs once, what it has
// written over is put back when the capture ends, and each launch of the graph runs it again into the same memory.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/ops/from_blob.h>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "inject/standin/device/captured_work.h"
#include "inject/standin/operators/virtual_device.h"

namespace deadrank::inject::standin::operators {

// The stand-in's captures. A process without the stand-in has none.
class GraphCapture {
public:
    static const GraphCapture& instance() {
        static const GraphCapture one;
        return one;
    }
    bool any() const { return open_ && open_() != 0; }
    bool has(void* stream) const { return any() && is_captured_(stream) != 0; }
    template <class Call>
    void add(void* stream, std::unique_ptr<Call> call, std::int64_t ns) const {
        add_(
            stream, [](void* data) { static_cast<Call*>(data)->play(); },
            [](void* data) { delete static_cast<Call*>(data); }, call.release(), ns);
    }
    void at_end(void* stream, void (*action)(void*), void* data) const { at_end_(stream, action, data); }

private:
    GraphCapture() {
        find_in_process("deadrank_captures_open", open_);
        find_in_process("deadrank_stream_is_captured", is_captured_);
        find_in_process("deadrank_graph_add", add_);
        find_in_process("deadrank_capture_at_end", at_end_);
        if (!is_captured_ || !add_ || !at_end_) open_ = nullptr;
    }

    decltype(&deadrank_captures_open) open_ = nullptr;
    decltype(&deadrank_stream_is_captured) is_captured_ = nullptr;
    decltype(&deadrank_graph_add) add_ = nullptr;
    decltype(&deadrank_capture_at_end) at_end_ = nullptr;
};

// What the operators of a capture have written over, as it was before.
class OverwrittenMemory {
public:
    static OverwrittenMemory& instance() {
        static OverwrittenMemory& one = *new OverwrittenMemory;
        return one;
    }

    // `tensor`: of the host, over a device's memory.
    void save(void* stream, const at::Tensor& tensor) {
        if (!tensor.defined() || tensor.layout() != c10::kStrided || !tensor.has_storage()) return;
        const c10::Storage& storage = tensor.storage();
        if (storage.nbytes() == 0) return;
        const std::lock_guard lock(mutex_);
        auto [saved, first] = saved_.try_emplace({storage.mutable_data(), storage.nbytes()});
        if (!first) return;
        saved->second = {storage, std::string(static_cast<const char*>(storage.data()), storage.nbytes())};
        order_.push_back(saved->first);
        if (order_.size() == 1)
            GraphCapture::instance().at_end(
                stream, [](void* all) { static_cast<OverwrittenMemory*>(all)->restore(); }, this);
    }

private:
    using Place = std::pair<void*, std::size_t>;
    struct Saved {
        c10::Storage storage;  // of the host's own memory, which the program may let go meanwhile
        std::string bytes;
    };

    // The last first: storages may overlap.
    void restore() {
        const std::lock_guard lock(mutex_);
        for (auto place = order_.rbegin(); place != order_.rend(); ++place)
            std::memcpy(place->first, saved_.at(*place).bytes.data(), place->second);
        order_.clear();
        saved_.clear();
    }

    std::mutex mutex_;
    std::map<Place, Saved> saved_;
    std::vector<Place> order_;
};

// Where a result lies. The graph's own pool keeps the memory, as on a GPU, so that nothing here owns it.
inline at::Tensor place_of(const at::Tensor& result) {
    return at::from_blob(result.data_ptr(), result.sizes(), result.strides(),
                         at::TensorOptions().dtype(result.dtype()).device(at::kCPU));
}

// The tensors of a stack, those in lists too.
inline std::vector<at::Tensor> tensors_of(c10::ArrayRef<c10::IValue> values) {
    std::vector<at::Tensor> all;
    for (const c10::IValue& value : values) {
        if (value.isTensor()) {
            all.push_back(value.toTensor());
        } else if (value.isTensorList()) {
            for (const at::Tensor& tensor : value.toTensorList()) all.push_back(tensor);
        }
    }
    return all;
}

// Whether an operator writes into an argument. Batch normalisation moves its running statistics on and does not say so.
inline bool writes_into(const c10::FunctionSchema& schema, std::size_t argument) {
    const c10::AliasInfo* alias = schema.arguments()[argument].alias_info();
    if (alias && alias->isWrite()) return true;
    return schema.name() == "aten::native_batch_norm" && (argument == 3 || argument == 4);
}

}  // namespace deadrank::inject::standin::operators
