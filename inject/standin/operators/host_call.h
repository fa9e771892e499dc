// inject/standin/operators/host_call.h — One call of an operator on the host. Lowering replaces each cuda
// tensor by a CPU tensor over the same memory. Raising does the reverse for results. Nothing is copied.
#pragma once

#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseTensorImpl.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "inject/standin/operators/addressed_list.h"
#include "inject/standin/operators/lending_allocator.h"

namespace deadrank::inject::standin::operators {

class HostCall {
public:
    // The device of the first cuda argument. Results belong to it.
    std::optional<c10::Device> device;
    // The other devices of a copy between devices.
    c10::SmallVector<c10::Device, 1> others;

    c10::IValue lower(const c10::IValue& value) {
        if (value.isTensor()) return lower(value.toTensor());
        if (value.isTensorList()) {
            c10::List<at::Tensor> lowered;
            const auto tensors = value.toTensorList();
            lowered.reserve(tensors.size());
            for (const at::Tensor& tensor : tensors) lowered.push_back(lower(tensor));
            return lowered;
        }
        if (value.isOptionalTensorList()) {
            c10::List<std::optional<at::Tensor>> lowered;
            const auto tensors = value.toOptionalTensorList();
            for (std::size_t i = 0; i < tensors.size(); ++i) {
                const std::optional<at::Tensor> tensor = tensors.get(i);
                lowered.push_back(tensor ? std::optional<at::Tensor>(lower(*tensor)) : std::nullopt);
            }
            return lowered;
        }
        if (value.isDevice() && value.toDevice().is_cuda()) {
            if (!device) device = value.toDevice();
            return c10::Device(c10::kCPU);
        }
        return value;
    }

    at::Tensor lower(const at::Tensor& tensor) {
        if (!tensor.defined()) return tensor;
        if (tensor.device().is_cpu()) return keep(tensor);
        if (!tensor.device().is_cuda()) return tensor;
        if (!device)
            device = tensor.device();
        else if (tensor.device() != *device && device->has_index())
            others.push_back(tensor.device());
        if (const View* known = views_.find(tensor.unsafeGetTensorImpl())) return known->host;
        refuse_quantized(tensor);
        at::Tensor host;
        if (tensor.layout() == c10::kStrided)
            host = lower_strided(tensor);
        else if (tensor.layout() == c10::kSparse)
            host = lower_coo(tensor);
        else
            host = lower_compressed(tensor);
        remember(host, tensor);
        return host;
    }

    // What a kernel resized or replaced on the host is resized or replaced on the device.
    void write_back() {
        for (auto& [address, storage] : storages_) write_back(storage);
        const std::size_t lowered = views_.size();  // raising parts of sparse tensors adds views
        for (std::size_t i = 0; i < lowered; ++i) {
            const View view = views_[i];
            if (view.host.is_same(view.device)) continue;
            if (view.device.layout() == c10::kStrided)
                write_back_strided(view);
            else if (view.device.layout() == c10::kSparse)
                write_back_coo(view);
            else
                write_back_compressed(view);
        }
    }

    c10::IValue raise(const c10::IValue& value) {
        if (value.isTensor()) return raise(value.toTensor());
        if (value.isTensorList()) {
            c10::List<at::Tensor> raised;
            for (const at::Tensor& tensor : value.toTensorList()) raised.push_back(raise(tensor));
            return raised;
        }
        return value;
    }

    at::Tensor raise(const at::Tensor& tensor) {
        if (!tensor.defined() || !tensor.device().is_cpu()) return tensor;
        if (const std::size_t* known = views_by_host_.find(tensor.unsafeGetTensorImpl()))
            return views_[*known].device;
        refuse_quantized(tensor);
        at::Tensor raised;
        if (tensor.layout() == c10::kStrided)
            raised = raise_strided(tensor);
        else if (tensor.layout() == c10::kSparse)
            raised = raise_coo(tensor);
        else
            raised = raise_compressed(tensor);
        remember(tensor, raised);
        return raised;
    }

    // The memory of all cuda arguments.
    std::vector<c10::Storage> memory() {
        std::vector<c10::Storage> all;
        for (auto& [address, storage] : storages_)
            all.push_back(storage.device ? storage.device : storage.host);
        return all;
    }

private:
    struct View {
        at::Tensor host, device;
    };
    struct SharedStorage {
        c10::Storage host, device;  // no device: the memory belongs to a CPU argument
        void* data = nullptr;       // as lowered
        std::size_t bytes = 0;
    };

    void remember(const at::Tensor& host, const at::Tensor& device_tensor) {
        views_by_host_.add(host.unsafeGetTensorImpl(), views_.size());
        views_.add(device_tensor.unsafeGetTensorImpl(), {host, device_tensor});
    }
    void share(SharedStorage storage) {
        storages_by_host_.add(storage.host.unsafeGetStorageImpl(), storages_.size());
        const void* address = storage.device ? storage.device.unsafeGetStorageImpl() : nullptr;
        storages_.add(address, std::move(storage));
    }

    // A CPU argument stays itself, also when the operator returns it or a view of it.
    at::Tensor keep(const at::Tensor& tensor) {
        if (views_by_host_.find(tensor.unsafeGetTensorImpl())) return tensor;
        remember(tensor, tensor);
        if (tensor.layout() == c10::kStrided && tensor.has_storage() && tensor.nbytes() > 0 &&
            !storages_by_host_.find(tensor.storage().unsafeGetStorageImpl()))
            share({tensor.storage(), c10::Storage()});
        return tensor;
    }

    at::Tensor lower_strided(const at::Tensor& tensor) {
        const c10::Storage& storage = tensor.storage();
        const SharedStorage* known = storages_.find(storage.unsafeGetStorageImpl());
        c10::Storage host;
        if (known) {
            host = known->host;
        } else {
            void* data = storage.mutable_data();
            const std::size_t bytes = storage.nbytes();
            host = c10::Storage(c10::Storage::use_byte_size_t(), bytes, c10::DataPtr(data, c10::kCPU),
                                &LendingAllocator::instance(), true);
            share({host, storage, data, bytes});
        }
        at::Tensor lowered = view_of(host, c10::DispatchKey::CPU, tensor);
        if (tensor.unsafeGetTensorImpl()->is_wrapped_number())
            lowered.unsafeGetTensorImpl()->set_wrapped_number(true);
        return lowered;
    }

    at::Tensor raise_strided(const at::Tensor& tensor) {
        c10::StorageImpl* host = tensor.storage().unsafeGetStorageImpl();
        if (const std::size_t* known = storages_by_host_.find(host)) {
            const c10::Storage& storage = storages_[*known].device;
            return storage ? view_of(storage, c10::DispatchKey::CUDA, tensor) : tensor;  // of a CPU argument
        }
        const c10::Storage storage = take_over(*host);
        share({tensor.storage(), storage, host->mutable_data(), host->nbytes()});
        return view_of(storage, c10::DispatchKey::CUDA, tensor);
    }

    // The memory of a result becomes a cuda storage. The host's storage goes on pointing to it.
    c10::Storage take_over(c10::StorageImpl& host) const {
        const std::size_t bytes = host.nbytes();
        c10::DataPtr memory = host.set_data_ptr(c10::DataPtr(host.mutable_data(), c10::kCPU));
        return {c10::Storage::use_byte_size_t(), bytes, owned_by_device(std::move(memory), bytes),
                &LendingAllocator::cuda(), true};
    }
    c10::DataPtr owned_by_device(c10::DataPtr memory, std::size_t bytes) const {
        if (memory.get() && !LendingAllocator::is_lent(memory)) {
            c10::DataPtr copy = LendingAllocator::cuda().allocate(bytes);
            std::memcpy(copy.get(), memory.get(), bytes);
            memory = std::move(copy);
        }
        memory.unsafe_set_device(*device);
        return memory;
    }

    void write_back(SharedStorage& shared) const {
        if (!shared.device || (shared.host.data() == shared.data && shared.host.nbytes() == shared.bytes))
            return;
        void* data = shared.host.mutable_data();
        const std::size_t bytes = shared.host.nbytes();
        if (data != shared.data) {
            c10::DataPtr memory = shared.host.set_data_ptr(c10::DataPtr(data, c10::kCPU));
            shared.device.set_data_ptr(owned_by_device(std::move(memory), bytes));
        }
        shared.device.set_nbytes(bytes);
    }
    static void write_back_strided(const View& view) {
        if (view.host.sizes() == view.device.sizes() && view.host.strides() == view.device.strides() &&
            view.host.storage_offset() == view.device.storage_offset())
            return;
        view.device.unsafeGetTensorImpl()->set_sizes_and_strides(view.host.sizes(), view.host.strides(),
                                                                 view.host.storage_offset());
    }

    static at::Tensor view_of(const c10::Storage& storage, c10::DispatchKey key, const at::Tensor& like) {
        at::Tensor view = at::detail::make_tensor<c10::TensorImpl>(c10::Storage(storage),
                                                                   c10::DispatchKeySet(key), like.dtype());
        c10::TensorImpl* impl = view.unsafeGetTensorImpl();
        impl->set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
        if (like.is_conj()) impl->_set_conj(true);
        if (like.is_neg()) impl->_set_neg(true);
        return view;
    }

    static void refuse_quantized(const at::Tensor& tensor) {
        TORCH_CHECK_NOT_IMPLEMENTED(!tensor.is_quantized(),
                                    "deadrank: quantized cuda tensors cannot be computed on the host. "
                                    "Quantize on the CPU.");
    }

    // A COO tensor is lowered and raised by its indices and values.
    using Coo = at::SparseTensorImpl;
    static Coo& coo(const at::Tensor& tensor) { return *static_cast<Coo*>(tensor.unsafeGetTensorImpl()); }
    static at::Tensor make_coo(c10::DispatchKey key, const at::Tensor& like, const at::Tensor& indices,
                               const at::Tensor& values) {
        at::Tensor made = at::detail::make_tensor<Coo>(c10::DispatchKeySet(key), like.dtype());
        set_coo(made, like, indices, values);
        return made;
    }
    static void set_coo(const at::Tensor& into, const at::Tensor& like, const at::Tensor& indices,
                        const at::Tensor& values) {
        coo(into).raw_resize_(coo(like).sparse_dim(), coo(like).dense_dim(), like.sizes());
        coo(into).set_indices_and_values_unsafe(indices, values);
        coo(into).set_coalesced(coo(like).coalesced());
    }
    at::Tensor lower_coo(const at::Tensor& tensor) {
        const at::Tensor indices = lower(coo(tensor).indices()), values = lower(coo(tensor).values());
        return make_coo(c10::DispatchKey::SparseCPU, tensor, indices, values);
    }
    at::Tensor raise_coo(const at::Tensor& tensor) {
        const at::Tensor indices = raise(coo(tensor).indices()), values = raise(coo(tensor).values());
        return make_coo(c10::DispatchKey::SparseCUDA, tensor, indices, values);
    }
    void write_back_coo(const View& view) {
        const at::Tensor indices = raise(coo(view.host).indices()), values = raise(coo(view.host).values());
        set_coo(view.device, view.host, indices, values);
    }

    // A tensor in CSR, CSC, BSR or BSC is lowered and raised by its compressed and plain indices and values.
    using Compressed = at::SparseCsrTensorImpl;
    static Compressed& compressed(const at::Tensor& tensor) {
        return *static_cast<Compressed*>(tensor.unsafeGetTensorImpl());
    }
    at::Tensor lower_compressed(const at::Tensor& tensor) {
        const Compressed& from = compressed(tensor);
        const at::Tensor rows = lower(from.compressed_indices()), columns = lower(from.plain_indices()),
                         values = lower(from.values());
        at::Tensor made =
            at::detail::make_tensor<Compressed>(c10::DispatchKeySet(c10::DispatchKey::SparseCsrCPU),
                                                c10::Device(c10::kCPU), tensor.layout(), tensor.dtype());
        compressed(made).set_member_tensors(rows, columns, values, tensor.sizes());
        return made;
    }
    at::Tensor raise_compressed(const at::Tensor& tensor) {
        const Compressed& from = compressed(tensor);
        const at::Tensor rows = raise(from.compressed_indices()), columns = raise(from.plain_indices()),
                         values = raise(from.values());
        at::Tensor made = at::detail::make_tensor<Compressed>(
            c10::DispatchKeySet(c10::DispatchKey::SparseCsrCUDA), *device, tensor.layout(), tensor.dtype());
        compressed(made).set_member_tensors(rows, columns, values, tensor.sizes());
        return made;
    }
    void write_back_compressed(const View& view) {
        const Compressed& from = compressed(view.host);
        const at::Tensor rows = raise(from.compressed_indices()), columns = raise(from.plain_indices()),
                         values = raise(from.values());
        compressed(view.device).set_member_tensors(rows, columns, values, view.host.sizes());
    }

    AddressedList<View> views_;                 // by the device's tensor
    AddressedList<std::size_t> views_by_host_;  // places in views_
    AddressedList<SharedStorage> storages_;     // by the device's storage
    AddressedList<std::size_t> storages_by_host_;
};

}  // namespace deadrank::inject::standin::operators
