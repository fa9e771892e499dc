// inject/standin/runtime/graphs.cpp — CUDA graphs. Work of a captured stream is kept instead of done; a launch enqueues
// it again, in the order in which it was captured (device/capture.h). Nodes are not shown, nor made by hand.
#include "inject/standin/runtime/runtime.h"

using namespace deadrank::inject::standin;

namespace {

// A handle of a graph or of an executable one: both are the same list of work.
template <class Handle>
Handle give_out(std::shared_ptr<Graph> graph) {
    return reinterpret_cast<Handle>(new std::shared_ptr<Graph>(std::move(graph)));
}
template <class Handle>
const std::shared_ptr<Graph>& graph_of(Handle handle) {
    return *reinterpret_cast<std::shared_ptr<Graph>*>(handle);
}
template <class Handle>
cudaError_t destroy(Handle handle) {
    if (!handle) return answer(cudaErrorInvalidValue);
    delete reinterpret_cast<std::shared_ptr<Graph>*>(handle);
    return cudaSuccess;
}

cudaStreamCaptureStatus status_of(const Stream& stream) {
    const auto state = captures().state(stream);
    if (!state) return cudaStreamCaptureStatusNone;
    return state->valid ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusInvalidated;
}

}  // namespace

namespace deadrank::inject::standin {

cudaError_t describe_capture(cudaStream_t handle, const CaptureInfo& into) {
    const Stream* stream = devices().stream(handle);
    if (!stream) return answer(cudaErrorInvalidResourceHandle);
    const auto state = captures().state(*stream);
    *into.status = status_of(*stream);
    if (into.id) *into.id = state ? state->id : 0;
    if (into.graph) *into.graph = nullptr;
    if (into.nodes) *into.nodes = nullptr;
    if (into.edges) *into.edges = nullptr;
    if (into.count) *into.count = 0;
    return cudaSuccess;
}

}  // namespace deadrank::inject::standin

extern "C" {

// All modes are the relaxed one: a call that another mode forbids beside a capture does no harm here.
cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode) {
    Stream* stream = devices().stream(handle);
    if (!stream) return answer(cudaErrorInvalidResourceHandle);
    const bool is_default = reinterpret_cast<std::uintptr_t>(handle) <= 1;
    if (is_default) return answer(cudaErrorStreamCaptureUnsupported);
    return captures().begin(*stream) ? cudaSuccess : answer(cudaErrorIllegalState);
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* into) {
    using Outcome = Captures::Outcome;
    Stream* stream = devices().stream(handle);
    if (!stream || !into) return answer(cudaErrorInvalidValue);
    *into = nullptr;
    Captures::End end = captures().end(*stream);
    switch (end.outcome) {
        case Outcome::not_capturing:
            return answer(cudaErrorIllegalState);
        case Outcome::unmatched:
            return answer(cudaErrorStreamCaptureUnmatched);
        case Outcome::unjoined:
            return answer(cudaErrorStreamCaptureUnjoined);
        case Outcome::invalidated:
            return answer(cudaErrorStreamCaptureInvalidated);
        case Outcome::done:
            break;
    }
    *into = give_out<cudaGraph_t>(std::move(end.graph));
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
    return describe_capture(handle, {.status = status});
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) { return cudaSuccess; }

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* into, cudaGraph_t graph, unsigned long long) {
    if (!into || !graph) return answer(cudaErrorInvalidValue);
    *into = give_out<cudaGraphExec_t>(graph_of(graph));
    return cudaSuccess;
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* into, cudaGraph_t graph, unsigned long long flags) {
    return cudaGraphInstantiate(into, graph, flags);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t handle) {
    Stream* stream = devices().stream(handle);
    if (!graph || !stream) return answer(cudaErrorInvalidValue);
    const std::shared_ptr<Graph> kept = graph_of(graph);
    kept->launch(*stream);
    return cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t graph, cudaStream_t) {
    return graph ? cudaSuccess : answer(cudaErrorInvalidValue);
}
// How many there are. Their handles are null, and nothing takes one.
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
    if (!graph || !count) return answer(cudaErrorInvalidValue);
    if (nodes)
        for (std::size_t i = 0; i < *count; ++i) nodes[i] = nullptr;
    else
        *count = graph_of(graph)->size();
    return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return destroy(graph); }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) { return destroy(graph); }
}
