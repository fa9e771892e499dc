// inject/standin/operators/operators_library.cpp — Gives every operator of cuda tensors a kernel that
// computes on the host. It is compiled with the headers of the installed torch and loaded by
// torch.ops.load_library(). The Python package beside it decides which operators are overridden:
// python/deadrank_operators/catalog.py.
#include <ATen/core/List.h>
#include <c10/util/Exception.h>
#include <memory>
#include <string>
#include <torch/library.h>
#include <vector>

#include "inject/standin/operators/attention.h"
#include "inject/standin/operators/communication_record.h"
#include "inject/standin/operators/host_kernel.h"
#include "inject/standin/operators/lending_allocator.h"

namespace deadrank::inject::standin::operators {
namespace {

// Torch warns when a kernel is overridden, which is the purpose here.
class Silence final : public c10::WarningHandler {
public:
    void process(const c10::Warning&) override {}
};

// A library that is destroyed takes its kernels with it, so these live as long as the process.
torch::Library& library_for(const std::string& space, c10::DispatchKey key) {
    return *new torch::Library(torch::Library::IMPL, space, key, __FILE__, __LINE__);
}

// "add.Tensor" of aten is overload "Tensor" of aten::add.
c10::OperatorHandle handle_of(const std::string& space, const std::string& name) {
    const std::size_t dot = name.find('.');
    return c10::Dispatcher::singleton().findSchemaOrThrow(
        (space + "::" + name.substr(0, dot)).c_str(),
        dot == std::string::npos ? "" : name.substr(dot + 1).c_str());
}

struct KeyPair {
    c10::DispatchKey device, host;
};
KeyPair keys_of(const std::string& layout) {
    if (layout == "strided") return {c10::DispatchKey::CUDA, c10::DispatchKey::CPU};
    if (layout == "coo") return {c10::DispatchKey::SparseCUDA, c10::DispatchKey::SparseCPU};
    TORCH_CHECK(layout == "compressed", "deadrank: internal error: no layout ", layout);
    return {c10::DispatchKey::SparseCsrCUDA, c10::DispatchKey::SparseCsrCPU};
}

using Names = std::vector<std::string>;

// `space`: "aten", or the namespace of a package of operators.
void override_operators(const std::string& space, const std::string& layout, const Names& on_host,
                        const Names& refused, const std::string& advice) {
    Silence silence;
    const c10::WarningUtils::WarningHandlerGuard quietly(&silence);
    const KeyPair keys = keys_of(layout);
    torch::Library& library = library_for(space, keys.device);
    for (const std::string& name : on_host) {
        library.impl(name.c_str(), torch::CppFunction::makeFromBoxedFunctor(
                                       std::make_unique<HostKernel>(handle_of(space, name), keys.host)));
    }
    for (const std::string& name : refused) {
        library.impl(name.c_str(),
                     torch::CppFunction::makeFromBoxedFunctor(std::make_unique<RefusedKernel>(advice)));
    }
    if (keys.device == c10::DispatchKey::CUDA && space == "aten") {
        LendingAllocator::install();
        install_attention(library);
    }
}

// A CPU tensor over the memory of a cuda tensor. It keeps the memory alive.
at::Tensor host_view(const at::Tensor& tensor) {
    HostCall call;
    at::Tensor host = call.lower(tensor);
    return at::from_blob(
        host.mutable_data_ptr(), host.sizes(), host.strides(), [tensor](void*) {}, host.options());
}

}  // namespace

TORCH_LIBRARY(deadrank, library) {
    library.def(
        "override_operators(str space, str layout, str[] on_host, str[] refused, str advice) -> ()",
        &override_operators);
    library.def("host_view(Tensor tensor) -> Tensor", &host_view);
    library.def(
        "record_communication(str call, str group, str description, int rank, int size, int sent, int "
        "received, "
        "int first, int stride, int sequence, ScalarType dtype, Tensor[] ins, Tensor[] outs) -> ()",
        [](std::string call, std::string group, std::string description, std::int64_t rank, std::int64_t size,
           std::int64_t sent, std::int64_t received, std::int64_t first, std::int64_t stride,
           std::int64_t sequence, at::ScalarType dtype, const std::vector<at::Tensor>& ins,
           const std::vector<at::Tensor>& outs) {
            record_communication<torch::ParamCommsDebugInfo>(
                {std::move(call), std::move(group), std::move(description), rank, size, sent, received, first,
                 stride, sequence, dtype},
                ins, outs);
        });
}

}  // namespace deadrank::inject::standin::operators
